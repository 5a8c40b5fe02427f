"""The trace of a join by step, of a page and packets made up here."""

from steps import Packet, table, trace

SERVER, NEWCOMER, PUBLISHER = (b"\x7f\0\0\1", 5000), (b"\x7f\0\0\1", 6000), (b"\x7f\0\0\1", 7000)
EPOCH, STARTED = 1_700_000_000_000.0, 300.0
REQUEST, SUCCESS, HANDSHAKE, PLI = b"\0\1", b"\1\1", b"\x16\xfe", b"\x81\xce"


def packet(ms: float, source: tuple[bytes, int], target: tuple[bytes, int], head: bytes, stamp: int = 0) -> Packet:
    """That comes so long after the join began."""
    return Packet((EPOCH + STARTED + ms) / 1000, source, target, head + b"\0\0" + stamp.to_bytes(4, "big") + bytes(8))


def steps_of(*more: Packet) -> dict[str, float]:
    picture = {"now": STARTED + 120, "receiveTime": STARTED + 100, "processingDuration": 0.004, "rtpTimestamp": 77}
    found = {"at": {"hello answered": 250.0, "join answered": STARTED + 8}, "pictures": [picture], "epoch": EPOCH, "page": 20.0, "ready": 60.0}
    packets = [
        packet(-9, PUBLISHER, SERVER, HANDSHAKE), packet(30, NEWCOMER, SERVER, REQUEST), packet(31, SERVER, NEWCOMER, SUCCESS),
        packet(33, NEWCOMER, SERVER, HANDSHAKE), packet(38, SERVER, NEWCOMER, HANDSHAKE), packet(39, SERVER, PUBLISHER, PLI),
        packet(50, SERVER, NEWCOMER, b"\x80\x6f", 5), packet(90, SERVER, NEWCOMER, b"\x80\x60", 77), *more,
    ]
    [steps] = trace(found, [120.0], sorted(packets))
    return {step: round(when, 1) for step, when in steps.items()}


def test_each_step_is_found():
    assert steps_of() == {
        "page arrived": 20, "page read": 60, "hello answered": 250, "join answered": 8, "wire: first check": 30, "wire: check answered": 31,
        "wire: DTLS begins": 33, "wire: DTLS done": 38, "wire: keyframe asked for": 39, "wire: first RTP": 50,
        "wire: first of the picture": 90, "picture received": 100, "picture decoded": 104, "picture shown": 120,
    }


def test_what_others_send_is_no_step_of_the_newcomers():
    others = [
        packet(1, PUBLISHER, SERVER, REQUEST), packet(2, SERVER, PUBLISHER, SUCCESS), packet(3, PUBLISHER, SERVER, HANDSHAKE),
        packet(4, SERVER, PUBLISHER, b"\x80\x60", 77),
    ]
    assert steps_of(*others) == steps_of()


def test_the_table_has_the_slowest_join():
    lines = table("Roost", [{"hello answered": 100, "picture shown": 50}, {"hello answered": 90, "picture shown": 80}])
    assert [line.split()[-3:] for line in lines if "picture shown" in line] == [["65.0", "80.0", "80.0"], ["160.0", "170.0", "170.0"]]
