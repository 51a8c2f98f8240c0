# SPDX-License-Identifier: GPL-3.0-or-later
"""ATT PDUs as tshark and `ancsd decode` read them, all as PDU."""

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field, replace


@dataclass
class Attribute:
    handle: int | None
    uuid: str | None
    value: str
    service: str | None = None
    is_cut: bool = False

    def __str__(self):
        handle = "-" if self.handle is None else f"0x{self.handle:04x}"
        return f"{handle} {self.uuid or '-'} {self.value or '-'}"


@dataclass
class PDU:
    frame: int
    opcode: int
    attributes: list = field(default_factory=list)
    type: str | None = None

    def __str__(self):
        said = "; ".join(map(str, self.attributes))
        return f"#{self.frame} 0x{self.opcode:02x} type {self.type or '-'} [{said}]"


def uuid_text(text):
    return text.upper().removeprefix("0X").replace("-", "").replace(":", "")


# ancsd

def of_ancsd(binary, path):
    """The PDUs, and what was printed on standard error."""
    done = subprocess.run([binary, "decode", "--att", "--format", "json", path],
                          capture_output=True, text=True, check=True)
    return [ancsd_pdu(json.loads(line)) for line in done.stdout.splitlines()], done.stderr


def ancsd_pdu(line):
    pdu = PDU(line["frame"], line["opcode"])
    pdu.type = optional_uuid(line, "type")
    entries = line.get("attributes", [line])
    for entry in entries:
        if "handle" not in entry and "value" not in entry:
            continue
        pdu.attributes.append(Attribute(
            entry.get("handle"), optional_uuid(entry, "uuid"), entry.get("value", ""),
            optional_uuid(entry, "service")))
    return pdu


def optional_uuid(entry, key):
    return uuid_text(entry[key]) if key in entry else None


# tshark

def of_tshark(path):
    command = ["tshark", "-n", "-r", path, "-Y", "btatt", "-T", "pdml"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pdus = []
    for _, element in ElementTree.iterparse(process.stdout):
        if element.tag != "packet":
            continue
        number = int(element.find("proto[@name='geninfo']/field[@name='num']").get("show"))
        for proto in element.findall("proto[@name='btatt']"):
            pdus.append(tshark_pdu(number, proto))
        element.clear()
    if process.wait() != 0:
        raise RuntimeError(f"tshark can't read {path}")
    return pdus


def is_in_packet(node):
    return size(node) > 0


def uuid_in_packet(node):
    """A UUID from its bytes: of a long one tshark shows the text in transmission order."""
    return bytes.fromhex(node.get("value"))[::-1].hex().upper()


GROUPS = ("btatt.attribute_data", "btatt.information_data", "btatt.handles_info")
TYPES = ("btatt.uuid16", "btatt.uuid128")
# Fields that are neither a handle, nor a type, nor part of a value.
OTHERS = {"btatt.length", "btatt.offset", "btatt.uuid_format", "btatt.starting_handle",
          "btatt.ending_handle", "btatt.group_end_handle", "btatt.error_code",
          "btatt.req_opcode_in_error", "btatt.client_rx_mtu", "btatt.server_rx_mtu",
          "btatt.flags", "btatt.sign_counter", "btatt.signature"}
# Requests for attributes of one type: Find By Type Value, Read By Type, Read By Group Type.
TYPED = (0x06, 0x08, 0x10)


def tshark_pdu(number, proto):
    """A PDU from tshark's tree: fields from the packet have a size, those from elsewhere have none."""
    fields = [node for node in proto if node.get("name", "").startswith("btatt.")]
    while fields[0].get("name") != "btatt.opcode":
        fields.pop(0)
    pdu = PDU(number, int(fields[0].get("show"), 16))
    fields = fields[1:]
    if pdu.opcode in TYPED:
        places = [n for n, node in enumerate(fields)
                  if node.get("name") in TYPES and is_in_packet(node)]
        if places:  # none if the PDU is cut before it
            pdu.type = uuid_in_packet(fields.pop(places[0]))
    groups = [node for node in fields if node.get("name") in GROUPS]
    if pdu.opcode in (0x0E, 0x0F, 0x20, 0x21) and not groups:  # handles, each an attribute
        attributes = [tshark_attribute(pdu.opcode, [node])
                      for node in fields if node.get("name") == "btatt.handle"]
    else:
        attributes = [tshark_attribute(pdu.opcode, list(node), is_cut(node))
                      for node in groups] or [
                          tshark_attribute(pdu.opcode, fields, is_cut(proto))]
    pdu.attributes = [a for a in attributes if a.handle is not None or a.value]
    return pdu


def is_cut(node):
    """Whether the packet has more than tshark has fields for."""
    return sum(size(child) for child in node) < size(node)


def size(node):
    return int(node.get("size", "0"))


def tshark_attribute(opcode, nodes, is_cut=False):
    """An attribute: the first handle, and the value that follows it in the packet."""
    attribute = Attribute(None, None, "", is_cut=is_cut)
    for node in nodes:
        name = node.get("name")
        if name in ("btatt.handle", "btatt.handle_in_error") and attribute.handle is None:
            attribute.handle = int(node.get("show"), 16)
            for below in node:
                if below.get("name") in TYPES:
                    attribute.uuid = uuid_text(below.get("show"))
        elif opcode == 0x05 and name in TYPES:  # Find Information Response: handles and types
            if is_in_packet(node):
                attribute.uuid = uuid_in_packet(node)
        elif is_in_packet(node) and (name not in OTHERS or opcode == 0x09 and "handle" in name):
            attribute.value += node.get("value") or ""
    return attribute


DECLARATIONS = ("2800", "2801")
#: Opcodes that tshark 4.0 names, but does not parse.
OPAQUE = (0x20, 0x21, 0x23)
#: PDUs without a handle: one that is shown for them comes from the request.
WITHOUT_HANDLE = (0x0B, 0x0D, 0x0F, 0x13, 0x19, 0x1E, 0x21)


def on_air(pdu):
    """A PDU by itself, without what earlier ones say about it."""
    attributes = pdu.attributes
    if pdu.opcode in WITHOUT_HANDLE:
        attributes = [replace(a, handle=None, uuid=None) for a in attributes]
    return replace(pdu, attributes=[a for a in attributes if a.handle is not None or a.value])


def agree(ours, theirs, names=True):
    """Whether two PDUs are the same. If ancsd knows an attribute's type and tshark does not, they agree; if
    tshark does and ancsd does not, they do not, unless `names` is false."""
    if ours.opcode in OPAQUE and not theirs.attributes:
        return ours.opcode == theirs.opcode
    mine = [a for a in ours.attributes if a.handle is not None or a.value]
    if ours.opcode == 0x1E and not theirs.attributes:
        mine = []  # ancsd has the handle from the indication
    return (ours.opcode == theirs.opcode and ours.type == theirs.type
            and len(mine) == len(theirs.attributes)
            and all(agree_on(*pair, names) for pair in zip(mine, theirs.attributes)))


def agree_on(ours, theirs, names):
    # tshark gives a service's declaration the type of the service, which is the declaration's value.
    known = {None, ours.uuid} | ({ours.service} if ours.uuid in DECLARATIONS else set())
    # tshark shows only the beginning of a value that is longer than its type allows.
    same = ours.value == theirs.value or theirs.is_cut and ours.value.startswith(theirs.value)
    return ours.handle == theirs.handle and same and (not names or theirs.uuid in known)
