"""Configurations on which tensor operations are held against the core."""

import smallfloat as sf

CONFIGS = [
    sf.Config("e4m3fn"),
    sf.Config("cfloat8_1_4_3"),
    sf.Config("cfloat8_1_4_3", bias="amax", granularity="channel"),
    sf.Config("cfloat8_1_5_2", bias=20, granularity="block:32"),
    sf.Config("cfloat8_1_4_3:subnormals=gradual", bias="amax:margin=1", granularity="block:8x16"),
    sf.Config("shp", bias="amax", granularity="channel"),
    sf.Config("binary8p3se"),
    sf.Config("binary16p8se"),
    sf.Config("mxfp8-e4m3"),
    sf.Config("mxfp8-e5m2", scale_rule="ceil"),
    sf.Config("mxfp6-e3m2", scale_rule="even"),
    sf.Config("mxfp6-e2m3", scale_rule="rceil", granularity="block:7"),
    sf.Config("mxfp4"),
    sf.Config("mxfp4", rounding="toward-zero", granularity="block:5x3"),
    sf.Config("nvfp4"),
    sf.Config("nvfp4", granularity="block:7"),
    sf.Config("fp8"),
    sf.Config("deepseek"),
    sf.Config("float-quantized"),
    sf.Config("e4m3fn", scale_format="bfloat16", granularity="channel"),
    sf.Config("binary8p3sf", scale_format="binary32", granularity="block:16"),
    sf.Config("e2m3fn", scale_format="e5m2", scale_rule="amax", granularity="block:9"),
    sf.Config("mxfp8-e4m3", rounding="stochastic-a", seed=7),
]
#: Lists of values, which the core alone encodes.
LISTS = [
    sf.Config("nf4"),
    sf.Config("sf4", granularity="channel"),
    sf.Config("int4", granularity="block:7"),
    sf.Config("int8"),
    sf.Config("mxint8"),
]
BY_CORE_ALONE = [
    sf.Config("mxfp4", scale_rule="least-error"),
    sf.Config("fp8", rounding="stochastic-a", seed=3),
    sf.Config("cfloat8_1_4_3", bias="percentile:99"),
]
