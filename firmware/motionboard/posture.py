"""Posture tables (idmwire.posture), looked up in every cycle before the model is evaluated."""

import micropython


# tables: how many words follow, then the tables; ahead: positions of all axes first; p: the model's mantissas. Words
# are below 2^30, so differences stay within int32; a product is made of the upper 17 and the lower 15 bits of one.
@micropython.viper
def look_up(tables: ptr32, ahead: ptr32, p: ptr32, sh: int):
    at = 1
    end = tables[0]
    while at <= end:
        shift = tables[at + 3]
        last = tables[at + 4] - 1
        x = (ahead[tables[at + 1]] << sh) >> sh
        # Positions of any int32: beyond 64 turns every table has ended.
        if x > 0x3FFFFFFF:
            x = 0x3FFFFFFF
        elif x < -0x3FFFFFFF:
            x = -0x3FFFFFFF
        x -= (tables[at + 2] << sh) >> sh
        first = at + 5
        cell = x >> shift
        if x < 0:
            value = (tables[first] << sh) >> sh
        elif cell >= last:
            value = (tables[first + last] << sh) >> sh
        else:
            value = (tables[first + cell] << sh) >> sh
            rise = ((tables[first + cell + 1] << sh) >> sh) - value
            part = x & ((1 << shift) - 1)
            part = part >> (shift - 15) if shift > 15 else part << (15 - shift)
            value += (rise >> 15) * part + (((rise & 0x7FFF) * part + 0x4000) >> 15)
        p[tables[at]] = value
        at = first + last + 1
