import Glibc

func cosine(_ radians: Double) -> Double { cos(radians) }
func sine(_ radians: Double) -> Double { sin(radians) }
