"""Formats and numbers on which implementations of `smallfloat.kernel` are held against the core."""

import functools

import numpy as np

import smallfloat as sf

NAMED = (
    "e4m3fn e5m2 e4m3fnuz e5m2fnuz e4m3b11fnuz e4m3 e3m4 e3m2fn e2m3fn e2m1fn e8m0fnu binary16 bfloat16 uhp "
    "cfloat8_1_4_3:bias=0 cfloat8_1_4_3:bias=7 cfloat8_1_4_3:bias=63 cfloat8_1_4_3:bias=11,subnormals=gradual "
    "cfloat8_1_5_2:bias=15 cfloat8_1_5_2:bias=40,subnormals=gradual shp:bias=15 shp:bias=50 "
    "binary8p3se binary8p3sf binary8p4ue binary8p1se binary8p8ue binary8p7se binary3p1se binary3p2sf binary4p2ue binary5p3sf "
    "binary6p3se binary8p2uf binary16p8se binary16p11uf binary12p5se binary16p12sf binary8p1uf "
    "ieee:k=6,p=3 ieee:k=12,p=7 ieee:k=16,p=14"
).split()
PARTS = [
    dict(k=8, p=4, bias=7, subnormals="none"),
    dict(k=8, p=3, bias=15, subnormals="flush"),
    dict(k=8, p=4, bias=-100, subnormals="tesla"),
    dict(k=7, p=3, bias=130, subnormals="none"),
    dict(k=8, p=5, bias=140, specials="nan-allones"),
    dict(k=16, p=12, bias=20, subnormals="tesla", specials="ieee"),
    dict(k=8, p=4, bias=7, signed=False, specials="nan-allones"),
    dict(k=8, p=1, bias=60, signed=False, specials="e8m0", subnormals="none"),
    dict(k=2, p=1, bias=0),
]
FORMATS = [sf.Format(name) for name in NAMED] + [
    sf.Format.minifloat(how.pop("k"), how.pop("p"), how.pop("bias"), **how) for how in PARTS
]
MODES = [mode for mode in sf.roundings if not mode.startswith("stochastic")]
#: All bfloat16 numbers, as float32.
BF16 = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)


@functools.cache
def boundaries(fmt):
    """Every place of float32 where the rounding of a format changes, with its neighbours: values,
    midpoints, both ends."""
    magnitudes = np.arange((fmt.max_code >> fmt.signed) + 1, dtype=fmt.dtype)
    values = sf.decode(magnitudes, fmt, dtype=np.float64, rounding="nearest-even")
    values = np.unique(values[np.isfinite(values)])
    steps = np.diff(values, prepend=0.0, append=2 * values[-1])
    places = np.concatenate([values, values + steps[1:] / 2, values[-1:] * 2, [0.0, 2.0**-149, 2.0**-126, np.inf, np.nan]])
    with np.errstate(over="ignore"):
        x = places.astype(np.float32)
    x = np.concatenate([np.nextafter(x, np.float32(0)), x, np.nextafter(x, np.float32(np.inf))])
    return np.unique(np.concatenate([x, -x]).view(np.uint32)).view(np.float32)
