// The time of a story, for the programs of its apps.
//
// This library is not linked with anything. `latchkey prove` has it loaded into a story's apps before the C library
// (LD_PRELOAD), whose clocks, timers, sleeps and waits with a time limit it replaces. Then `Date()`, `Timer`,
// `Task.sleep` and everything else that comes down to these are the story's, in programs that know nothing of it.
//
// Without the variable LATCHKEY_CLOCK, it passes every call on.
