# SPDX-License-Identifier: GPL-3.0-or-later
"""What Tests/Lab and Tests/Interop share: runner, ancsd as a process, the phone's services, an odd device.

A suite is a package next to this one. Its modules `cases*` have its cases, and its module `testbed` has a class
`Testbed`, which is `Harness.testbed.Testbed` with what only its bearer needs. A case is a function:

    @case("new-notification")
    async def new_notification(bed: Testbed) -> None:
        '''What it shows, in one line, which --list prints.'''
        daemon, phone, subscribed = await bed.served()
        phone.ancs.post(Notification(1, title="Mum"))
        expect(await daemon.event("notification", since=subscribed, uid=1), title="Mum")
"""
