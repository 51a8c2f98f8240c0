/* SPDX-License-Identifier: GPL-3.0-or-later
   What Tests/Release/arm.py has to find in machine code for 32-bit ARM, and what it has to leave alone. */
.arch armv7-a
.fpu vfpv3
.arm
.text
.type keeps_self, %function
keeps_self:
  push {r4, r10, r11, lr}
  ldm r10!, {r0, r1}
  ldrexd r2, r3, [r0]
  vldr d0, [r1]
  pop {r4, r10, r11, pc}
  .word 0xffffffff
.type loses_self, %function
loses_self:
  ldm r10!, {r0, r1}
  bx lr
.type is_newer, %function
is_newer:
  movw r0, #1
  dmb ish
  bx lr
