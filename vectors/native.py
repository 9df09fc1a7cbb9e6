"""Reads keys of the native format. Written from KEY_FORMAT.md alone."""
import ctypes, datetime, decimal, json, math, pathlib, re, struct, sys, uuid

def check(ok, why):
    if not ok:
        raise ValueError(why)

def take(key, n):  # here and below, key is a bytearray: what is left to read
    check(n <= len(key), "the key ends too early")
    taken, key[:n] = bytes(key[:n]), b""
    return taken

def split(fields):  # at the commas outside brackets
    lines, depth = "", 0
    for c in fields:
        depth += (c == "(") - (c == ")")
        lines += "\n" if c == "," and depth == 0 else c
    return lines.split("\n") if lines else []

def read_field(key, field, depth=0):
    match = re.fullmatch(r"(\w+)(?:\((.*)\))?((?::(?:nocase|desc|nulls-first|nulls-last))*)", field)
    check(match and match[1] in TYPES, f"not a type: {field}")
    name, args, modifiers = match[1], match[2] or "", match[3].split(":")
    check(match[2] is None or name in ("decimal", "timestamp", "tuple"), f"{name} takes no brackets")
    if "nulls-first" in modifiers or "nulls-last" in modifiers:
        mark = take(key, 1)[0]
        if mark == (0 if "nulls-first" in modifiers else 2):
            return None
        check(mark == 1, "bad byte for null")
    flip = 0xFF if "desc" in modifiers else 0
    key[:] = bytes(b ^ flip for b in key)
    value = TYPES[name](key, args, depth)
    key[:] = bytes(b ^ flip for b in key)
    check("nocase" not in modifiers or name == "str" and value == value.casefold(), "text is not folded")
    return value

def read_int(key, size, low, high):
    n = int.from_bytes(take(key, size), "big") - (1 << 8 * size - 1 if low < 0 else 0)
    check(low <= n <= high, f"{n} is not within {low} to {high}")
    return n

def read_float(key, single):
    bits = read_int(key, 8, 0, 2**64 - 1)
    bits ^= 1 << 63 if bits >> 63 else 2**64 - 1
    x = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    check(not math.isnan(x) and bits != 1 << 63, "NaN or -0.0")
    check(not single or ctypes.c_float(x).value == x, "not a number of f32")
    return x if math.isfinite(x) else "Infinity" if x > 0 else "-Infinity"

def read_decimal(key, args, depth):
    first, pairs = take(key, 1)[0], []
    sign, flip = ("-", 0xFF) if first < 0x80 else ("", 0)
    while not pairs or pairs[-1] % 2:  # only the last one is even
        pairs.append(take(key, 1)[0] ^ flip)
    zero = first == 0x80 and pairs == [0]
    check(zero or pairs[0] > 1 and pairs[-1] > 1 and max(pairs) < 200, "a pair of zero or above 99")
    behind = "".join(f"{pair // 2:02}" for pair in pairs).rstrip("0")  # the digits behind "0."
    digits, power = behind.lstrip("0") or "0", 0 if zero else 2 * ((first ^ flip) - 0xC0) - len(behind)
    check(len(digits) <= 38, "more than 38 digits")
    number = decimal.Decimal(f"{sign}{digits}e{power}")
    if args:
        p, s = map(int, args.split(","))
        check(zero or power >= -s and len(digits) + power <= p - s, f"beyond decimal({args})")
        return f"{number:.{s}f}"
    return f"{number:f}" if -60 <= power <= 21 else f"{sign}{digits}e{power}"

def read_bytes(key):
    match = re.match(rb"([^\x00]|\x00\xFF)*\x00\x01", key)
    check(match, "a bad escape, or no end")
    return take(key, match.end())[:-2].replace(b"\x00\xFF", b"\x00")

def date_text(days):  # Python knows 0001-01-01, its day 1, to 9999-12-31; other days stay integers
    return datetime.date.fromordinal(days + 719163).isoformat() if -719163 < days <= 2932896 else days

def read_timestamp(key, args, depth):
    check(args in ("", "3", "6", "9"), f"no timestamp({args})")
    nanos = read_int(key, 8, -2**63, 2**63 - 1) * 10**(9 - int(args or 6))
    days, rest = divmod(nanos, 86400 * 10**9)
    second, fraction = divmod(rest, 10**9)
    time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{fraction:09}".rstrip("0").rstrip(".")
    return nanos if date_text(days) == days else f"{date_text(days)}T{time}Z"

def read_tuple(key, args, depth):
    check(depth < 16, "tuples nest too deep")
    types, values = split(args), []
    while read_int(key, 1, 0, 1):
        check(len(values) < len(types), "too many elements")
        values.append(read_field(key, types[len(values)], depth + 1))
    return values

TYPES = {
    "null": lambda key, *_: check(False, "null with a value"), "bool": lambda key, *_: read_int(key, 1, 0, 1) == 1,
    "f32": lambda key, *_: read_float(key, True), "f64": lambda key, *_: read_float(key, False),
    "str": lambda key, *_: read_bytes(key).decode("utf-8"), "bytes": lambda key, *_: read_bytes(key).hex(),
    "uuid": lambda key, *_: str(uuid.UUID(bytes=take(key, 16))),
    "date": lambda key, *_: date_text(read_int(key, 4, -2**31, 2**31 - 1)),
    "decimal": read_decimal, "timestamp": read_timestamp, "tuple": read_tuple}
for n in range(8, 65, 8):
    TYPES[f"u{n}"] = lambda key, *_, n=n: read_int(key, 8, 0, 2**n - 1)
    TYPES[f"i{n}"] = lambda key, *_, n=n: read_int(key, 8, -2**(n - 1), 2**(n - 1) - 1)
TYPES["duration"] = TYPES["i64"]

def decode(fields: str, key: bytes) -> list:
    key = bytearray(key)
    values = [read_field(key, field) for field in split(fields)]
    check(not key, "bytes behind the last field")
    return values

if __name__ == "__main__":
    vectors, failed = json.loads(pathlib.Path(sys.argv[1]).read_text("utf-8")), 0
    for v in vectors:
        want = "refused" if v.get("refused") else v["values"]
        try:
            got = decode(v["fields"], bytes.fromhex(v["bytes"]))
        except ValueError as error:
            got = "refused" if want == "refused" else f"refused: {error}"
        if repr(got) != repr(want):  # repr tells 1, 1.0 and True apart
            failed += 1
            print(f"FAIL {v['fields']} {v['bytes']}: got {got!r} want {want!r}")
    print(f"{len(vectors) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
