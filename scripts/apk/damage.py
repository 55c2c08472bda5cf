"""Damages a traced dex file in known ways: the controls of tools.py and two_roads/run.py. Each keeps the file's checksums right, so that no tool refuses it for those."""
import hashlib, struct, zlib

CLASS = b"Ldev/anrscope/MethodBeat;"
# Units of each form of `const` that the rewriter writes.
CONST = {0x12: 1, 0x13: 2, 0x15: 2, 0x14: 3}
CONST_16, CONST_STRING, UNUSED = 0x13, 0x1A, 0x3E
# Of a code item, in bytes.
HEADER, INVOKE = 16, 6


def u32(dex, at):
    return struct.unpack_from("<I", dex, at)[0]


def string(dex, index):
    at = u32(dex, u32(dex, 0x3C) + 4 * index)
    while dex[at] & 0x80:
        at += 1
    return bytes(dex[at + 1:dex.index(0, at + 1)])


def enter_method(dex):
    """The index of `i`, or None."""
    for index in range(u32(dex, 0x58)):
        owner, _, name = struct.unpack_from("<HHI", dex, u32(dex, 0x5C) + 8 * index)
        if string(dex, name) == b"i" and string(dex, u32(dex, u32(dex, 0x44) + 4 * owner)) == CLASS:
            return index
    return None


def enters(dex):
    """Yields the place of the code item and of the call of `i`, for methods that begin with the call."""
    method = enter_method(dex)
    if method is None:
        return
    # invoke-static with one register
    call, at = b"\x71\x10" + struct.pack("<H", method), -1
    while (at := dex.find(call, at + 1)) >= 0:
        for opcode, units in CONST.items():
            code = at - 2 * units - HEADER
            if at % 2 == 0 and code % 4 == 0 and code > 0 and dex[code + HEADER] == opcode:
                register = dex[code + HEADER + 1] & 0xF if units == 1 else dex[code + HEADER + 1]
                end = code + HEADER + 2 * u32(dex, code + 12)
                # Else these bytes are something else by chance.
                if register == dex[at + 4] and at + INVOKE <= end <= len(dex):
                    yield code, at


def id_is_a_string(dex, code, call):
    if dex[code + HEADER] != CONST_16:
        return False
    dex[code + HEADER] = CONST_STRING
    return True


def call_is_missing(dex, code, call):
    dex[call:call + INVOKE] = bytes(INVOKE)
    return True


def opcode_is_unknown(dex, code, call):
    if dex[code + HEADER] != CONST_16:
        return False
    dex[code + HEADER:code + HEADER + 4] = bytes([UNUSED, 0, 0, 0])
    return True


def range_is_cut(dex, code, call):
    """The only try range ends after its first code unit."""
    size = u32(dex, code + 12)
    ranges = code + HEADER + 2 * size + 2 * (size % 2)
    tries, length = struct.unpack_from("<H", dex, code + 6)[0], struct.unpack_from("<H", dex, ranges + 4)[0]
    if tries != 1 or length < 6:
        return False
    struct.pack_into("<H", dex, ranges + 4, 1)
    return True


# What is done, and the tools that must see it. enjarify translates almost anything; the JVM refuses what it makes of it.
KINDS = {
    "the id is a string": (id_is_a_string, ["dex-verify", "JVM"]),
    "a call of i is missing": (call_is_missing, ["dexdump"]),
    "an opcode is unknown": (opcode_is_unknown, ["dex-verify", "smali", "D8", "JVM"]),
    "a handler covers no call": (range_is_cut, ["dexdump"]),
}


def damaged(dex, kind, everywhere=False):
    """A copy in which one method is damaged, or each that can be; None if none can be."""
    copy, done = bytearray(dex), False
    for code, call in enters(copy):
        if everywhere or not done:
            done |= KINDS[kind][0](copy, code, call)
    if not done:
        return None
    copy[12:32] = hashlib.sha1(copy[32:]).digest()
    struct.pack_into("<I", copy, 8, zlib.adler32(copy[12:]))
    return bytes(copy)
