"""Errors are TypeError or ValueError and say what would be right."""

import ml_dtypes
import numpy as np
import pytest

import smallfloat as sf

X = np.ones(4, np.float32)
CODES = np.zeros(4, np.uint8)


@pytest.mark.parametrize(
    "error, says, call",
    [
        (ValueError, "did you mean `e4m3fn`", lambda: sf.encode(X, "e4m3fnn")),
        (ValueError, "needs a bias, 0..=63", lambda: sf.encode(X, "cfloat8_1_4_3")),
        (ValueError, "bias must be 0..=63", lambda: sf.Format("cfloat8_1_4_3", bias=64)),
        (TypeError, "fmt must be a Format", lambda: sf.encode(X, 8)),
        (ValueError, "binary32 has no codes here", lambda: sf.encode(X, "binary32")),
        (ValueError, "'nearest-even', 'nearest-away'", lambda: sf.encode(X, "e5m2", rounding="up")),
        (ValueError, "'satfinite', 'satpropagate'", lambda: sf.encode(X, "e5m2", saturation="clamp")),
        (ValueError, "'tesla', 'ieee'", lambda: sf.encode(X, "e5m2", preset="nvidia")),
        (ValueError, "'philox', 'ars5'", lambda: sf.encode(X, "e5m2", rounding="stochastic-a", seed=1, generator="x")),
        (ValueError, "'philox', 'ars5'", lambda: sf.encode(X, "e5m2", generator="x")),
        (ValueError, "needs a seed", lambda: sf.encode(X, "e5m2", rounding="stochastic-a")),
        (ValueError, "leave it out", lambda: sf.encode(X, "e5m2", seed=1)),
        (ValueError, "1..=32", lambda: sf.encode(X, "e5m2", rounding="stochastic-a", seed=1, random_bits=33)),
        (TypeError, "name of a tensor", lambda: sf.encode(X, "e5m2", rounding="stochastic-a", seed=1, stream=1.5)),
        (ValueError, "threads must be at least 1", lambda: sf.encode(X, "e5m2", threads=0)),
        (ValueError, "threads must be at least 1 and less than 2**64, or None for one a core, not -1", lambda: sf.encode(X, "e5m2", threads=-1)),
        (ValueError, "threads must be at least 1 and less than 2**64, or None for one a core, not -1", lambda: sf.matmul(CODES, CODES, "e5m2", threads=-1)),
        (ValueError, "seed must be an integer in 0..2**64, not 18446744073709551616", lambda: sf.encode(X, "e5m2", seed=2**64)),
        (ValueError, "seed must be an integer in 0..2**64, not -1", lambda: sf.ops.add(X, X, "e5m2", seed=-1)),
        (ValueError, "random_bits must be an integer in 1..=32, not -1", lambda: sf.encode(X, "e5m2", random_bits=-1)),
        (TypeError, "random_bits must be an integer in 1..=32, not 1.5", lambda: sf.round(X, "e5m2", random_bits=1.5)),
        (ValueError, "seed must be an integer in 0..2**64, not -1", lambda: sf.quantize(X, "e5m2", seed=-1)),
        (ValueError, "random_bits must be an integer in 1..=32, not -2", lambda: sf.quantize(X, "e5m2", random_bits=-2)),
        (TypeError, "seed must be an integer in 0..2**64, not 'a'", lambda: sf.round(X, "e5m2", seed="a")),
        (TypeError, "seed must be an integer in 0..2**64, not 1.5", lambda: sf.quantize(X, "e5m2", seed=1.5)),
        (ValueError, "bias must be an integer in -2**31..2**31, not an integer of 16610 bits", lambda: sf.Format("shp", bias=10**5000)),
        (ValueError, "`an integer of 16610 bits` is not understood", lambda: sf.choose_bias(X, "shp", 10**5000)),
        (ValueError, "`an integer of 16610 bits` is not understood", lambda: sf.quantize(X, "shp", bias=10**5000)),
        (ValueError, "seed must be an integer in 0..2**64, not an integer of 16610 bits", lambda: sf.quantize(X, "shp", seed=10**5000)),
        (ValueError, "amax must be a number that float64 can hold", lambda: sf.BiasController("shp", "amax").observe(amax=10**400)),
        (ValueError, "slope must be a number that float64 can hold", lambda: sf.BiasController("shp", "gradient").observe(slope=10**400)),
        (ValueError, "four integers in 0..2**64", lambda: sf.BiasController("shp", "flags").observe(code_use=(-1, 0, 0, 0))),
        (ValueError, "seven integers in 0..2**64, not [1, -1]", lambda: sf.EventCounts(0, [1, -1])),
        (ValueError, "not a list with an integer of thousands of digits", lambda: sf.EventCounts(0, [10**5000])),
        (ValueError, "`an integer of 16610 bits` is not understood", lambda: sf.Config("shp", bias=10**5000)),
        (ValueError, "flags must be an integer in 0..2**8, not 256", lambda: sf.EventCounts(256, [0] * 7)),
        (ValueError, "random must be an integer in 0..2**64", lambda: sf.kappa("Exp<e5m2, e5m2>", variant="f32-libm", random=-1)),
        (ValueError, "scheme `mxfp5` is not known, did you mean `mxfp4`?", lambda: sf.quantize(X, "mxfp5")),
        (ValueError, "scheme `mxfp8_e4m3` is not known, did you mean `mxfp8-e4m3`?", lambda: sf.quantize(X, "mxfp8_e4m3")),
        (ValueError, "unknown format `e4m3fnn`, did you mean `e4m3fn`?", lambda: sf.quantize(X, "e4m3fnn")),
        (ValueError, "first_element must be an integer in 0..2**64, not -1", lambda: sf.round(X, "e5m2", first_element=-1)),
        (TypeError, "dtype >f4 is in another byte order: give the native-endian dtype", lambda: sf.decode(CODES[0], "e5m2", dtype=">f4")),
        (ValueError, "1 NaN and 0 infinite", lambda: sf.encode([1.0, np.nan], "e5m2", nonfinite="refuse")),
        (ValueError, "'refuse'", lambda: sf.encode(X, "e5m2", nonfinite="drop")),
        (ValueError, "'before-rounding'", lambda: sf.encode(X, "e5m2", flush="after")),
        (ValueError, "leave out flush", lambda: sf.encode(X, "e5m2", flush="before-rounding", return_flags=True)),
        (ValueError, "widest dtype", lambda: sf.round(X, "binary64")),
        (TypeError, "convert it to float16", lambda: sf.encode(X.astype(complex), "e5m2")),
        (TypeError, "convert it to float16", lambda: sf.encode(["a"], "e5m2")),
        (TypeError, "convert it to float16", lambda: sf.encode(X.astype(np.longdouble), "e5m2")),
        (ValueError, "beyond 2**53", lambda: sf.encode(np.array([2**53 + 1]), "e5m2")),
        (ValueError, "beyond 2**53", lambda: sf.encode(np.array([2**60, -(2**60) - 64]), "e5m2")),
        (ValueError, "shape", lambda: sf.encode(X, "e5m2", out=np.empty(5, np.uint8))),
        (TypeError, "dtype uint8", lambda: sf.encode(X, "e5m2", out=np.empty(4, np.uint16))),
        (TypeError, "must be an array", lambda: sf.encode(X, "e5m2", out=[0] * 4)),
        (TypeError, "dtype float32", lambda: sf.round(X, "e5m2", out=np.empty(4))),
        (TypeError, "uint8 (or any integers", lambda: sf.decode(X, "e5m2")),
        (ValueError, "0..=0xff", lambda: sf.decode([256], "e5m2")),
        (ValueError, "element 2: code 0x10", lambda: sf.decode(np.array([0, 1, 16], np.uint8), "e2m1fn")),
        (TypeError, "which is not e4m3fn", lambda: sf.decode(CODES.view(ml_dtypes.float8_e5m2), "e4m3fn")),
        (TypeError, "fmt is missing", lambda: sf.decode(CODES)),
        (TypeError, "float16, float32, float64", lambda: sf.decode(CODES, "e5m2", dtype=np.int32)),
        (ValueError, "give a rounding", lambda: sf.decode(CODES, "binary8p1se", dtype=np.float16)),
        (ValueError, "convert x to a wider one", lambda: sf.round(X.astype(np.float16), "bfloat16")),
        (ValueError, "needs random words", lambda: sf.decode(CODES, "e5m2", rounding="stochastic-a")),
        (ValueError, "codes are 0x0..=0xff", lambda: sf.formats.e5m2.text(256)),
        (AttributeError, "did you mean", lambda: sf.formats.e4m3fnx),
        (ValueError, "is not a number", lambda: sf.formats.e5m2.parse("one")),
        (ValueError, "k, the width of a code in bits, must be an integer in 2..=32, not -8", lambda: sf.Format.p3109(-8, 3)),
        (ValueError, "must be an integer in 2..=32, not 4294967304", lambda: sf.Format.ieee(2**32 + 8, 3)),
        (ValueError, "p, the precision in bits, must be an integer in 1..=k, not -1", lambda: sf.Format.minifloat(8, -1, 7)),
        (TypeError, "must be an integer in 2..=32, not 8.5", lambda: sf.Format.p3109(8.5, 3)),
        (ValueError, "bias must be an integer in -2**31..2**31, not 1099511627776", lambda: sf.Format("cfloat8_1_4_3", bias=2**40)),
        (ValueError, "bias must be an integer in -2**31..2**31", lambda: sf.BiasController("cfloat8_1_4_3", start=2**40)),
        (ValueError, "bias = 1180591620717411303424 is out of range, bias must be 0..=63", lambda: sf.quantize(X, "cfloat8_1_4_3", bias=2**70)),
        (ValueError, "code must be an integer in 0..2**width, not -1", lambda: sf.formats.e5m2.text(-1)),
        (ValueError, "stream must be an integer in 0..2**64", lambda: sf.encode(X, "e5m2", rounding="stochastic-a", seed=1, stream=-1)),
        (ValueError, "shards must be an integer in 1..2**64, not 0", lambda: sf.plan("x", "y", "mxfp4", shards=0)),
        (ValueError, "shard_bytes must be an integer in 1..2**64, not -1", lambda: sf.plan("x", "y", "mxfp4", shard_bytes=-1)),
        (ValueError, "bias=3 contradicts cfloat8_1_4_3:bias=7", lambda: sf.Format("cfloat8_1_4_3:bias=7", bias=3)),
        (ValueError, ".with_bias(3)", lambda: sf.Format(sf.Format("cfloat8_1_4_3:bias=7"), bias=3)),
        (ValueError, "subnormals='tesla' contradicts", lambda: sf.Format("shp:bias=7,subnormals=gradual", subnormals="tesla")),
        (OverflowError, "can't hold", lambda: sf.Format("binary16p1ue").max),
    ],
)
def test_message(error, says, call):
    with pytest.raises(error) as caught:
        call()
    assert says in str(caught.value), str(caught.value)


def test_read_only_out():
    out = np.empty(4, np.uint8)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        sf.encode(X, "e5m2", out=out)


def test_what_says_the_same_twice_is_no_contradiction():
    assert sf.Format("cfloat8_1_4_3:bias=7", bias=7) == sf.Format("cfloat8_1_4_3", bias=7)
    assert sf.Format("e4m3fn", bias=7) == sf.formats.e4m3fn
    assert sf.Format("shp:bias=7", subnormals="gradual").subnormals == "gradual"
