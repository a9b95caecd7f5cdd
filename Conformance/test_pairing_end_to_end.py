"""End-to-end encryption between a pair, bound to what the relay has signed (protocol §3.14): the relay passes frames that it cannot read, and a key that
somebody put in place of another is noticed. The clients are Python, with keys and certificates made by openssl."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field

import jwt
import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from support.relay import Identity, Relay, demo_identity
from support.session import AUDIO, CONFIGURATION, DATA, ENCRYPTED, Session, frame_message

LABEL = b"segue-e2e-v1\n"


class NotThePeer(Exception):
    """What came does not come from whom the relay has vouched for."""


def encode(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


def raw_public(key: X25519PublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


@dataclass
class Peer:
    """One end. It trusts the relay's published key for who its peer is, and nothing that comes through the room."""

    session: Session
    identity: Identity
    keys: jwt.PyJWKSet
    statement: str = ""
    ephemeral: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate)

    @property
    def fingerprint(self) -> str:
        return self.session.fingerprint

    def read_statement(self, text: str) -> dict:
        header = jwt.get_unverified_header(text)
        if header.get("typ") != "segue-pair+jwt":
            raise NotThePeer("no statement")
        return jwt.decode(text, self.keys[header["kid"]], algorithms=["EdDSA"], options={"require": ["exp", "iat", "iss"]})

    def offer(self) -> bytes:
        """One's ephemeral key, signed with the key of one's certificate."""
        certificate = x509.load_pem_x509_certificate(self.identity.certificate.read_bytes())
        key = serialization.load_pem_private_key(self.identity.key.read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        public = raw_public(self.ephemeral.public_key())
        signature = key.sign(LABEL + hashlib.sha256(self.statement.encode()).digest() + public, ec.ECDSA(hashes.SHA256()))
        return json.dumps(
            {
                "statement": self.statement,
                "public": encode(public),
                "certificate": encode(certificate.public_bytes(serialization.Encoding.DER)),
                "signature": encode(signature),
            }
        ).encode()

    def agree(self, offer: bytes) -> bytes:
        """The key that both ends share; raises `NotThePeer` for whoever the relay's statement does not name."""
        message = {name: value if name == "statement" else base64.b64decode(value) for name, value in json.loads(offer).items()}
        own, theirs = self.read_statement(self.statement), self.read_statement(message["statement"])
        if own["members"] != theirs["members"] or own["room"] != theirs["room"]:
            raise NotThePeer("a statement on another pair")
        others = [one["fingerprint"] for one in own["members"] if one["fingerprint"] != self.fingerprint]
        public_key = x509.load_der_x509_certificate(message["certificate"]).public_key()
        spki = public_key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        if len(own["members"]) != 2 or others != [hashlib.sha256(spki).hexdigest()]:
            raise NotThePeer("a certificate that the statement does not name")
        assert isinstance(public_key, ec.EllipticCurvePublicKey)
        signed = LABEL + hashlib.sha256(message["statement"].encode()).digest() + message["public"]
        try:
            public_key.verify(message["signature"], signed, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise NotThePeer("a key that the peer has not signed") from None
        # Both ends put the lower fingerprint's part first.
        parts = sorted(
            [
                (self.fingerprint, self.statement.encode(), raw_public(self.ephemeral.public_key())),
                (others[0], message["statement"].encode(), message["public"]),
            ]
        )
        salt = hashlib.sha256(b"\n".join(statement for _, statement, _ in parts) + b"".join(public for *_, public in parts)).digest()
        secret = self.ephemeral.exchange(X25519PublicKey.from_public_bytes(message["public"]))
        return HKDF(algorithm=hashes.SHA256(), length=16, salt=salt, info=LABEL).derive(secret)


def seal(key: bytes, sender: str, stream: int, sequence: int, payload: bytes) -> bytes:
    """A media frame whose payload only the pair can read, as SFrame (RFC 9605) does: the nonce counts, the frame's own header is authenticated."""
    header = frame_message(AUDIO, stream, sequence, b"", flags=ENCRYPTED, level=0x80 | 30)
    return header + AESGCM(direction(key, sender)).encrypt(sequence.to_bytes(12, "big"), payload, header)


def open_frame(key: bytes, sender: str, frame: bytes) -> bytes:
    header, sealed = frame[:16], frame[16:]
    return AESGCM(direction(key, sender)).decrypt(int.from_bytes(header[8:12], "big").to_bytes(12, "big"), sealed, header)


def direction(key: bytes, sender: str) -> bytes:
    """Each end seals with a key of its own: no nonce is used twice."""
    return HKDF(algorithm=hashes.SHA256(), length=16, salt=None, info=LABEL + sender.encode()).derive(key)


@pytest.fixture(scope="module", params=[1, 3], ids=["1 loop", "3 loops"])
def pair_relay(request: pytest.FixtureRequest, start_relay: Callable[..., Relay]) -> Relay:
    with pytest.MonkeyPatch.context() as patch:
        # What is measured here is not how fast the machine is.
        patch.setenv("SEGUE_LIMITS_AUDIO_DEADLINE_MILLISECONDS", "30000")
        return start_relay("end-to-end", loops=request.param)


@pytest.fixture
def pair(pair_relay: Relay):
    """Alice and bob, paired by code and in their room, each with the other's stream for keys subscribed to."""
    keys = jwt.PyJWKSet.from_dict(json.loads(pair_relay.get("/v1/keys")[2]))
    ends = []
    for name in ("alice", "bob"):
        identity = demo_identity(pair_relay.state, name)
        ends.append(Peer(Session(pair_relay, identity), identity, keys))
    alice, bob = ends
    bob_view = bob.session.ask("pair.enter", code=alice.session.ask("pair.code")["code"])["pair"]
    alice_view = alice.session.event("pair.made")["pair"]
    alice.statement, bob.statement = alice_view["statement"], bob_view["statement"]
    for end in ends:
        end.session.ask("join", room=bob_view["room"])
    yield alice, bob
    bob.session.ask("pair.revoke", pair=bob_view["pair"])
    for end in ends:
        end.session.close()
    pair_relay.assert_healthy()


def publish(sender: Peer, receiver: Peer, kind: str, codec: str) -> int:
    stream = sender.session.ask("publish", kind=kind, codec=codec)["stream"]
    receiver.session.event("stream.published")
    receiver.session.ask("subscribe", streams=[stream])
    sender.session.send_message(frame_message(CONFIGURATION, stream, 0, b""))
    assert receiver.session.next_message() == frame_message(CONFIGURATION, stream, 0, b"")
    return stream


def carry(sender: Peer, receiver: Peer, offer: bytes) -> bytes:
    """An offer through the pair's room, over a data stream."""
    stream = publish(sender, receiver, "data", "keys")
    sender.session.send_message(frame_message(DATA, stream, 0, offer))
    return receiver.session.next_message()[16:]


def test_frames_that_the_relay_cannot_read(pair: tuple[Peer, Peer]) -> None:
    alice, bob = pair
    to_bob, to_alice = carry(alice, bob, alice.offer()), carry(bob, alice, bob.offer())
    key = alice.agree(to_alice)
    assert key == bob.agree(to_bob)
    for sender, receiver in ((alice, bob), (bob, alice)):
        stream = publish(sender, receiver, "audio", "opus")
        for sequence in range(50):
            payload = b"nobody else hears this %d" % sequence
            sealed = seal(key, sender.fingerprint, stream, sequence, payload)
            sender.session.send_message(sealed)
            received = receiver.session.next_message()
            assert received == sealed, "byte for byte"
            assert open_frame(key, sender.fingerprint, received) == payload
            changed = received[:-1] + bytes([received[-1] ^ 1])
            with pytest.raises(InvalidTag):
                open_frame(key, sender.fingerprint, changed)


def test_a_key_in_place_of_the_peers_is_noticed(pair: tuple[Peer, Peer]) -> None:
    """What a relay could try that wants to listen in, or anybody else between the two."""
    alice, bob = pair
    honest = json.loads(alice.offer())
    # Another ephemeral key under alice's signature.
    swapped = honest | {"public": encode(raw_public(X25519PrivateKey.generate().public_key()))}
    with pytest.raises(NotThePeer, match="not signed"):
        bob.agree(json.dumps(swapped).encode())
    # Signed properly, with a certificate of the same authority that is not alice's: bob's own will do.
    impostor = Peer(bob.session, bob.identity, bob.keys, alice.statement)
    with pytest.raises(NotThePeer, match="does not name"):
        bob.agree(impostor.offer())
    # Alice's own signature on another statement, and a statement that the relay has not signed.
    foreign = jwt.encode(alice.read_statement(alice.statement), Ed25519PrivateKey.generate(), algorithm="EdDSA", headers=jwt.get_unverified_header(alice.statement))
    with pytest.raises(jwt.InvalidTokenError):
        bob.agree(Peer(alice.session, alice.identity, alice.keys, foreign).offer())
    # Without being noticed, both would have other keys than the honest two.
    assert bob.agree(json.dumps(honest).encode()) == alice.agree(bob.offer())


def test_only_a_statement_names_the_peer(pair: tuple[Peer, Peer]) -> None:
    """The room's name is worked out from the two fingerprints, and a grant, which the relay has signed too, does not pass for a statement."""
    alice, bob = pair
    claims = bob.read_statement(bob.statement)
    low, high = sorted((alice.fingerprint, bob.fingerprint))
    assert [one["fingerprint"] for one in claims["members"]] == [low, high]
    assert claims["room"] == "pair:" + hashlib.sha256(f"segue-pair-v1\n{low}\n{high}".encode()).hexdigest()
    grant = bob.session.ask("pair.list")["pairs"][0]["grant"]
    with pytest.raises(NotThePeer, match="no statement"):
        alice.agree(Peer(bob.session, bob.identity, bob.keys, grant).offer())
