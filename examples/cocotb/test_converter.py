"""The converter of examples/rtl under cocotb, beside smallfloat's C library: all of its results,
and its flags.

    pip install 'cocotb<2'
    SMALLFLOAT_LIBRARY=$PREFIX/lib/libsmallfloat.so python test_converter.py

Icarus Verilog simulates. MUTATION=1 to 4 seeds a bug, which is explained.
"""

import ctypes
import os
import pathlib
import random

import cocotb
from cocotb.triggers import Timer

U64, U32, POINTER = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p
TESLA = 0x36  # invalid, denormal, overflow, underflow


class Model:
    """An operation of smallfloat."""

    def __init__(self, text, policy):
        self.library = ctypes.CDLL(os.environ["SMALLFLOAT_LIBRARY"])
        self.library.sf_op_with.restype = POINTER
        self.library.sf_op_with.argtypes = [ctypes.c_char_p, POINTER, ctypes.c_char_p, ctypes.c_char_p]
        self.library.sf_call1.argtypes = [POINTER, U64, ctypes.POINTER(U64), ctypes.POINTER(U32)]
        self.library.sf_explain.restype = ctypes.c_size_t
        self.library.sf_explain.argtypes = [POINTER, ctypes.POINTER(U64), ctypes.c_size_t, U64, U32, U32, ctypes.c_char_p,
                                            ctypes.c_size_t]
        error = ctypes.create_string_buffer(256)
        self.operation = self.library.sf_op_with(text.encode(), None, policy.encode(), error)
        if not self.operation:
            raise ValueError(error.raw[4:].split(b"\0")[0].decode())

    def __call__(self, x):
        result, flags = U64(), U32()
        status = self.library.sf_call1(self.operation, x, result, flags)
        assert status == 0, f"status {status}"
        return result.value, flags.value

    def explain(self, x, result, flags):
        text = ctypes.create_string_buffer(2000)
        self.library.sf_explain(self.operation, (U64 * 1)(x), 1, result, flags, TESLA, text, len(text))
        return text.value.decode()


@cocotb.test()
async def converts(dut):
    """Random operands, half of them with exponents near the format's."""
    draw = random.Random(1)
    dut.gradual.value = 0
    for bias in (0, 7, 63):
        model = Model(f"Convert<binary32, cfloat8_1_4_3:bias={bias}>", "tesla")
        dut.bias.value = bias
        for i in range(2000):
            x = draw.getrandbits(32)
            if i % 2 == 0:
                x = x & 0x807FFFFF | (121 - bias + draw.randrange(24)) << 23
            if i % 4 == 0:
                x &= 0xFFF80000  # so few digits that there are ties
            dut.f32.value = x
            await Timer(1, units="ns")
            given = int(dut.code.value), int(dut.flags.value)
            right, flags = model(x)
            assert given == (right, flags & TESLA), model.explain(x, *given)


if __name__ == "__main__":
    from cocotb.runner import get_runner

    here = pathlib.Path(__file__).resolve().parent
    runner = get_runner("icarus")
    folder = pathlib.Path(os.environ.get("BUILD", here / "sim_build"))
    runner.build(sources=[here.parent / "rtl/f32_to_cfloat8.sv"], hdl_toplevel="f32_to_cfloat8", build_dir=folder, always=True,
                 parameters={"MUTATION": int(os.environ.get("MUTATION", "0"))}, timescale=("1ns", "1ps"))
    results = runner.test(hdl_toplevel="f32_to_cfloat8", test_module="test_converter", build_dir=folder, test_dir=here,
                          results_xml=str(folder / "results.xml"))
    failed = "<failure" in pathlib.Path(results).read_text(encoding="utf-8")
    raise SystemExit(failed)
