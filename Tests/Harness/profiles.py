# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of phones: one like the captured iPhones, and an ideal one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """How a phone differs from what the specifications describe; by default, not at all."""

    #: The database as captured (iOS 26.5.1): its order, Extended Properties, and services that only Apple's
    #: own accessories use.
    captured: bool = False
    #: The GATT service has a Database Hash, which can confirm remembered handles.
    hash: bool = False
    #: Service Changed for all but GAP and GATT as soon as a link is encrypted, subscribed to or not.
    announces: bool = False
    #: Requests the MTU itself, even if the other side does too.
    asks_mtu: bool = False
    #: Read By Type's Attribute Not Found names the ending handle of the request instead of the starting one.
    names_ending: bool = False
    #: Requests on a bonded link wait until it is encrypted.
    waits: bool = False
    #: Texts that are too long are cut between characters, and end in U+2026.
    ellipsis: bool = False
    #: Notifications from before the session are silent.
    hushes: bool = False

    # The rules of real phones, under the names of Sources/VirtualPhone/PhoneRules.swift, which has their sources, as far as a
    # case needs them; by default none is kept.

    #: After how many links in a row without a subscription it stays away; 0: never.
    strikes: int = 0
    #: Modified is announced once until it was fetched again.
    modified_once: bool = False


IDEAL = Profile(hash=True)
IPHONE = Profile(
    captured=True, announces=True, asks_mtu=True, names_ending=True, waits=True, ellipsis=True, hushes=True,
    strikes=3, modified_once=True,
)
