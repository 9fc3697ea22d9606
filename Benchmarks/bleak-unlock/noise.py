"""The phone's side of a session with the lock: Noise_KX_25519_ChaChaPoly_SHA256, the lock as the initiator.

Sources/LockProtocol is the same in Swift. The names are those of the Noise specification (revision 34).
"""

from __future__ import annotations

import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

NAME = b"Noise_KX_25519_ChaChaPoly_SHA256"
PROLOGUE = b"Latchkey lock session"
VERSION = 1
UNLOCK = 2


class PhoneSession:
    """One offer, one command, one answer."""

    def __init__(self, offer: bytes, identity: bytes, lock_key: bytes, phone_key: X25519PrivateKey) -> None:
        self._hash = NAME
        self._chain = NAME
        self._key: bytes | None = None
        self._nonce = 0
        self._phone = phone_key
        self._lock = X25519PublicKey.from_public_bytes(lock_key)
        self._offer = X25519PublicKey.from_public_bytes(offer)
        self._mix_hash(PROLOGUE + bytes([VERSION]) + identity)
        self._mix_hash(lock_key)
        # -> e, with an empty payload.
        self._mix_hash(offer)
        self._mix_hash(b"")

    def unlock(self, operation: int) -> bytes:
        """The message to write: <- e, ee, se, s, es, with the command as its payload."""
        ephemeral = X25519PrivateKey.generate()
        message = ephemeral.public_key().public_bytes_raw()
        self._mix_hash(message)
        self._mix_key(ephemeral.exchange(self._offer))
        self._mix_key(ephemeral.exchange(self._lock))
        message += self._encrypt_and_hash(self._phone.public_key().public_bytes_raw())
        self._mix_key(self._phone.exchange(self._offer))
        message += self._encrypt_and_hash(bytes([VERSION, UNLOCK]) + operation.to_bytes(8, "big"))
        self._key, _ = self._expand(b"")
        return message

    def open(self, answer: bytes) -> bytes:
        """The lock's answer, which proves the lock's identity."""
        assert self._key is not None, "an answer comes after the command"
        return ChaCha20Poly1305(self._key).decrypt(bytes(12), answer, None)

    def _mix_hash(self, data: bytes) -> None:
        self._hash = hashlib.sha256(self._hash + data).digest()

    def _mix_key(self, secret: bytes) -> None:
        self._chain, self._key = self._expand(secret)
        self._nonce = 0

    def _expand(self, secret: bytes) -> tuple[bytes, bytes]:
        """HKDF with two outputs."""
        temporary = hmac.digest(self._chain, secret, "sha256")
        first = hmac.digest(temporary, b"\x01", "sha256")
        return first, hmac.digest(temporary, first + b"\x02", "sha256")

    def _encrypt_and_hash(self, plaintext: bytes) -> bytes:
        assert self._key is not None, "keys have been mixed before"
        nonce = bytes(4) + self._nonce.to_bytes(8, "little")
        ciphertext = ChaCha20Poly1305(self._key).encrypt(nonce, plaintext, self._hash)
        self._nonce += 1
        self._mix_hash(ciphertext)
        return ciphertext
