#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fuzzer begins with: real and constructed bytes, in the form that each target reads
(Tests/FuzzTargets).

    corpus.py VECTORS CORPORA [LAB]

VECTORS is a folder of vectors (Tests/Vectors), LAB one with captures of the lab's. Files that are there
already are left alone.
"""
import hashlib
import json
import re
import struct
import sys
from pathlib import Path

vectors, corpora = Path(sys.argv[1]), Path(sys.argv[2])
lab = Path(sys.argv[3]) if len(sys.argv) > 3 else None


def add(target, data):
    folder = corpora / target
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha1(data).hexdigest()
    if not path.exists():
        path.write_bytes(data)


def packet(data, marked=False):
    """A packet behind its length, as FuzzInput.packet reads it."""
    data = bytes(data)[:512]
    if len(data) >= 112:
        data = data[: len(data) // 32 * 32]
        head = 111 + len(data) // 32
    else:
        head = len(data)
    return bytes([head | (0x80 if marked else 0)]) + data


def packets(items, marked=False):
    return b"".join(packet(item, marked) for item in items)


def pieces(data, length=20):
    return [data[at : at + length] for at in range(0, len(data), length)] or [b""]


# ANCS and AMS

ancs_ams = [v for f in vectors.glob("*ancs-ams.json") for v in json.loads(f.read_text())["vectors"]]
for vector in ancs_ams:
    data = bytes.fromhex(vector.get("hex", ""))
    kind = vector["kind"]
    if kind == "ancs.notificationSource":
        add("notification-source", data)
        add("notifications", b"\0" + packets([b"", b"", b"\1" + data]))
    elif kind == "ancs.controlPoint":
        add("control-point", data)
    elif kind == "ancs.dataSource" and "fragments" in vector:
        whole = bytes.fromhex("".join(vector["fragments"]))
        ids = vector.get("requestedAttributeIDs", [])[:7]
        if whole[:1] == b"\0":
            whole = whole[:1] + bytes([1, 2, 3, 4]) + whole[5:]
            choice = bytes([len(ids)]) + b"".join(bytes([i, 255]) for i in ids)
        else:
            choice = bytes([len(ids) | 8]) + bytes(ids)
        add("data-source", choice + packets(pieces(whole)))
        event = bytes.fromhex("0010060101020304")
        add("notifications", b"\0" + packets([b"", b"", b"\1" + event, b""] + [b"\2" + p for p in pieces(whole)]))
    elif kind.startswith("ams."):
        add("media-values", data)
        add("media", b"\0" + packets([b""] * 4 + [b"\1" + data, b"\0" + data]))

# ATT and GATT

for file in vectors.glob("*att-gatt.json"):
    for number, test in enumerate(json.loads(file.read_text())["tests"]):
        sent = {side: [bytes.fromhex(p["hex"]) for p in test["pdus"] if p["dir"] == side] for side in ("tx", "rx")}
        for pdu in sent["tx"] + sent["rx"]:
            add("att-pdu", pdu)
        for side in sent.values():
            add("att-server", b"\2" + packets(side))
            add("att-client", bytes([number % 16]) + packets(side))
            add("discovery", b"\0" + packets(side))

# The kernel

PEER = bytes.fromhex("0605040302 01 02".replace(" ", ""))
KEY = PEER + bytes([4, 0, 16, 0, 0]) + bytes(8) + bytes(range(16))
for code, body in [
    (1, bytes([1, 0, 0, 1, 22, 0])), (2, bytes([0x19, 0, 3])), (4, b""), (5, b""), (6, bytes([0xD1, 0, 0, 0])),
    (0x0A, b"\1" + KEY), (0x0B, PEER + bytes(4) + bytes([3, 0, 2, 1, 6])), (0x0C, PEER + b"\3"),
    (0x0F, PEER + b"\0" + bytes([64, 226, 1, 0])), (0x10, PEER), (0x11, PEER + b"\5"),
    (0x12, PEER + bytes([200, 0, 0, 0, 0, 3, 0, 2, 1, 6])), (0x2F, bytes(2) + PEER + bytes([200, 0, 0, 0, 0, 0, 0])),
    (0x13, bytes([6, 1])), (0x15, PEER), (0x17, PEER + bytes([1, 0, 0, 0, 2])),
    (0x18, b"\1" + bytes(6) + PEER + bytes(16)), (0x24, b"\1"), (0x60, b"\0" * 5),
]:
    event = struct.pack("<HHH", code, 0, len(body)) + body
    add("mgmt-event", event)
    add("mgmt-client", packet(event))
add("mgmt-client", packets([bytes([n]) + bytes([1, 0, 0, 0]) for n in range(8)], marked=True))
add("mgmt-client", packet(bytes([4]) + bytes(280), marked=True))
add("advertising-data", bytes.fromhex("0201060709616e637364051900400311067905"))

# Captures: link layer and HCI packets as a session has them

HCI = [
    (2, bytes([3, 12, 0])), (3, bytes([14, 4, 1, 3, 12, 0])),
    (3, bytes([0x3E, 19, 1, 0, 0x40, 0, 1, 1]) + bytes(6) + bytes([24, 0, 0, 0, 72, 0, 0])),
    (3, bytes([0x3E, 12, 2, 1, 0, 0]) + bytes(6) + b"\0\xC8"),
]
for hexed in ["020502", "03b900", "100100ffff0028", "080100ffff0328", "09070200100300052a",
              "1b15000010060101020304", "1225000100", "13", "0112120005"]:
    pdu = bytes.fromhex(hexed)
    for kind, flags in ((4, 0), (5, 2)):
        frame = struct.pack("<HH", len(pdu), 4) + pdu
        HCI.append((kind, struct.pack("<HH", 0x40 | flags << 12, len(frame)) + frame))
for channel, body in [(5, bytes([0x12, 1, 8, 0]) + bytes(8)), (6, bytes([1, 3, 0, 1, 16, 7, 7])), (6, b"\x0c" + bytes(16))]:
    frame = struct.pack("<HH", len(body), channel) + body
    HCI.append((5, struct.pack("<HH", 0x2040, len(frame)) + frame))
H4 = {2: 1, 3: 4, 4: 2, 5: 2}
AIR = bytes.fromhex("d6be898e 0013 010203040506 0201060709616e637364 aabbcc".replace(" ", ""))


def btsnoop(datalink, kind, data):
    control = kind in (2, 3)
    flags = kind if datalink == 2001 else (kind in (3, 5)) | 2 * control
    data = bytes([H4[kind]]) + data if datalink == 1002 else data
    return struct.pack(">IIIIQ", len(data), len(data), flags, 0, 0x00E03AB44A676000) + data


def linked(kind, data, link):
    uart = bytes([H4[kind]]) + data
    return {187: uart, 201: struct.pack(">I", kind in (3, 5)) + uart, 251: AIR, 254: struct.pack(">HH", 0, kind) + data,
            256: bytes(8) + b"\1\0" + AIR}[link]


def pcap(data):
    return struct.pack("<IIII", 1795241100, 42137, len(data), len(data)) + data


def pcapng(data):
    padded = data + bytes(-len(data) % 4)
    return struct.pack("<IIIIIII", 6, 32 + len(padded), 0, 0, 0, len(data), len(data)) + padded + struct.pack("<I", 32 + len(padded))


HEADS = {"btsnoop": [1001, 1002, 2001], "pcap": [187, 201, 251, 254, 256], "pcapng": [187, 201, 251, 254, 256]}
for number, datalink in enumerate(HEADS["btsnoop"]):
    records = b"".join(btsnoop(datalink, kind, data) for kind, data in HCI)
    add("capture-btsnoop", bytes([number]) + records)
    add("capture", b"btsnoop\0" + struct.pack(">II", 1, datalink) + records)
for number, link in enumerate(HEADS["pcap"]):
    add("capture-pcap", bytes([number]) + b"".join(pcap(linked(kind, data, link)) for kind, data in HCI))
    add("capture-pcapng", bytes([number]) + b"".join(pcapng(linked(kind, data, link)) for kind, data in HCI))
    head = struct.pack("<IHHQII", 0xA1B2C3D4, 2, 4, 0, 65535, link)
    add("capture", head + b"".join(pcap(linked(kind, data, link)) for kind, data in HCI))
LOGGER = {2: 0, 3: 1, 4: 2, 5: 3}
logger = b"".join(struct.pack(">IIIB", 9 + len(data), 1795241100, 42137, LOGGER[kind]) + data for kind, data in HCI)
add("capture", logger)
add("capture-packet-logger", b"\1" + logger[2:])
add("capture-packet-logger", b"\0" + logger[3:])
add("capture-packets", packets([bytes([kind]) + data for kind, data in HCI] + [b"\x14\0\0" + AIR]))
if lab and lab.is_dir():
    for file in lab.rglob("*.btsnoop"):
        data = file.read_bytes()[:4096]
        add("capture", data)
        add("capture-btsnoop", b"\2" + data[16:2048])

# Texts: the contract's examples

for line in Path("docs/interface.md").read_text().split("\n"):
    line = line.strip()
    if line.startswith("{"):
        data = line.encode()[:2048]
        add("json", data)
        match = re.search(r'"params":\s*(\{.*\})\}', line)
        if match:
            add("request", match.group(1).encode())
    if line.startswith("ancsd "):
        add("command-line", "\n".join(line.split()[1:]).encode())
for example in re.findall(r"```toml\n(.*?)```", Path("docs/settings.md").read_text(), re.DOTALL):
    add("settings", example.encode()[:2048])
mqtt = Path("docs/mqtt.md").read_text()
for example in re.findall(r"((?:^    .*\n)+)", mqtt, re.M):
    if "content =" in example or "url =" in example:
        add("bridge-settings", re.sub(r"(?m)^    ", "", example).encode()[:2048])
for methods in re.findall(r"^\| (`[a-z.]+`(?:, `[a-z.]+`)*) \|", mqtt, re.M):
    for method in re.findall(r"[a-z.]+", methods):
        for params in ("", '{"uid":1,"action":"negative"}', '{"command":"toggle","transaction":1}', '{"action":"answer"}'):
            add("broker-request", f"ancsd/board/phone/iphone/request/{method}\n{params}".encode())
            add("broker-request", f"ancsd/board/request/{method}\0me/answers\n{params}".encode())
fleet = [
    ("state", {"state": "online", "life": "2f", "version": "0.3.0"}), ("board", {"wait": "news", "why": "all is well", "problem": False}),
    ("phone/iphone/state", {"state": "online", "authorization": "granted", "services": ["ancs"], "rssi": -58}),
    ("phone/iphone/battery", {"level": 80}), ("phone/iphone/counts", {"total": 3}), ("phone/iphone/call", {"state": "ringing"}),
    ("phone/iphone/media", {"player": {"state": "playing"}}), ("state", {"state": "offline", "why": "the daemon has left"}),
    ("response/status", {"status": "ok", "data": {"done": 1}, "transaction": "t"}),
    ("response/media.get", {"status": "ok", "data": {"player": {"state": "paused", "volume": 0.5}}, "transaction": "t"}),
    ("response/notifications.list", {"status": "ok", "data": {"notifications": [{"uid": 1, "category": "social", "flags": []}]}, "transaction": "t"}),
    ("response/call", {"status": "error", "error": "no call rings", "code": 2, "transaction": "t"}),
]
add("fleet-view", "".join(f"ancsd/kitchen/{topic}\n{json.dumps(value)}\n" for topic, value in fleet).encode()[:2048])
for topic, value in fleet:
    add("fleet-view", f"ancsd/kitchen/{topic}\n{json.dumps(value)}\nancsd/kitchen/{topic}\n\n".encode())
for expression in ["^Spam|^\\+49 900", "(a+b*)*c\0ab", "(?<!x)\\bcode.*?[0-9]{4,8}$\0code 12", "((a{9}){9}|(?R))+[^b]", "(?i:ä)\\1"]:
    add("expression", expression.encode())
for text in ["[1,2.5,-0,1e3,true,false,null,\"a\\u0000\\ud83d\\ude00\"]", "{a:1,/**/'b':[.5,0x1F,],}", "\"\\u0085\""]:
    add("json", text.encode())
ENTRY = (PEER + bytes([2, 0, 16, 0, 0]) + bytes(8) + bytes(range(16))).hex()
bond = {"version": 1, "phone": "01:02:03:04:05:06/random", "name": "phone", "long_term_keys": [ENTRY],
        "identity_resolving_key": (PEER + bytes(range(16))).hex(), "first_seen": "2026-11-22T10:00:00Z"}
add("bond", json.dumps(bond, separators=(",", ":")).encode())
memory = {"version": 1, "identity_resolving_key": "00" * 16, "static_address": "C1:02:03:04:05:06", "accessories": [bond]}
add("phone-memory", json.dumps(memory, separators=(",", ":")).encode())
for params in ['{"uid":1,"action":"positive","phone":"01:02:03:04:05:06"}', '{"command":"play"}', '{"seconds":60}',
               '{"accept":true,"passkey":"012345"}', '{"handle":1,"value":"00ff","command":true}',
               '{"events":["notification","media"],"replay":true,"since":5}', '{"app_id":"com.a"}',
               '{"attributes":["title","message"],"uid":1}', '"id"', "7"]:
    add("request", params.encode())
    add("rpc", ('{"jsonrpc":"2.0","id":1,"method":"subscribe","params":%s}' % params).encode())
for text in ["caf\u00e9 \u202eevil\u202c \x1b[31m \u0085 \r\n", "\U0001F600\u4e2d\u6587\u0301"]:
    add("printable", text.encode())
add("companion", bytes.fromhex("ea070b160a000107ff03"))
add("companion", b"\x64")
add("companion", b"\x20\x04")
add("companion", bytes.fromhex("0c0018000000c800"))
