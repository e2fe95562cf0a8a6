// smallfloat in SystemVerilog: the golden model through DPI-C, and the constants of formats. Functions are those of
// smallfloat.h; link libsmallfloat to the simulator (`scripts/install-c`).
//
//     chandle op = sf_pkg::make("FMA<e4m3fn, e4m3fn, binary32, binary32>", "riscv");
//     if (!sf_pkg::check3(op, x, y, z, dut_result, dut_flags, 32'h1f)) errors++;
package sf_pkg;

  // Statuses of calls.
  typedef enum int {
    SF_STATUS_OK          = 0,
    SF_STATUS_NULL        = 1,
    SF_STATUS_TEXT        = 2,
    SF_STATUS_NAME        = 3,
    SF_STATUS_COUNT       = 4,
    SF_STATUS_CODE        = 5,
    SF_STATUS_UNSUPPORTED = 6,
    SF_STATUS_ARRAY       = 7,
    SF_STATUS_INTERNAL    = 8
  } status_e;

  // Flags are sets of these, in the order of RISC-V's fflags; the sixth is "denormal".
  typedef enum bit [5:0] {
    SF_INEXACT          = 6'd1,
    SF_UNDERFLOW        = 6'd2,
    SF_OVERFLOW         = 6'd4,
    SF_DIVISION_BY_ZERO = 6'd8,
    SF_INVALID          = 6'd16,
    SF_DENORMAL         = 6'd32
  } flag_e;

  // What sf_format_classify says.
  typedef enum int {
    SF_CLASS_NAN       = 0,
    SF_CLASS_INFINITE  = 1,
    SF_CLASS_ZERO      = 2,
    SF_CLASS_SUBNORMAL = 3,
    SF_CLASS_NORMAL    = 4
  } class_e;

  // Rounding modes as RISC-V's `rm` numbers them; `rounding_name` gives the name that operations have.
  typedef enum bit [2:0] {
    SF_NEAREST_EVEN    = 3'd0,
    SF_TOWARD_ZERO     = 3'd1,
    SF_TOWARD_NEGATIVE = 3'd2,
    SF_TOWARD_POSITIVE = 3'd3,
    SF_NEAREST_AWAY    = 3'd4,
    SF_TO_ODD          = 3'd5
  } rounding_e;

  // Saturation modes as the column `saturation` of vectors numbers them.
  typedef enum bit [1:0] {
    SF_SAT_FINITE    = 2'd0,
    SF_SAT_PROPAGATE = 2'd1,
    SF_SAT_NONE      = 2'd2,
    SF_SAT_NONE_V40  = 2'd3
  } saturation_e;

  function automatic string rounding_name(rounding_e mode);
    case (mode)
      SF_NEAREST_EVEN:    return "NearestTiesToEven";
      SF_TOWARD_ZERO:     return "TowardZero";
      SF_TOWARD_NEGATIVE: return "TowardNegative";
      SF_TOWARD_POSITIVE: return "TowardPositive";
      SF_NEAREST_AWAY:    return "NearestTiesToAway";
      default:            return "ToOdd";
    endcase
  endfunction

  // Widths, exponent bits and biases; Tesla's bias is a port of the unit. No design needs all of them.
  // verilator lint_off UNUSED
  localparam int E4M3FN_WIDTH = 8,        E4M3FN_EXPONENT = 4,        E4M3FN_BIAS = 7;
  localparam int E5M2_WIDTH = 8,          E5M2_EXPONENT = 5,          E5M2_BIAS = 15;
  localparam int E4M3FNUZ_WIDTH = 8,      E4M3FNUZ_EXPONENT = 4,      E4M3FNUZ_BIAS = 8;
  localparam int E5M2FNUZ_WIDTH = 8,      E5M2FNUZ_EXPONENT = 5,      E5M2FNUZ_BIAS = 16;
  localparam int E3M2FN_WIDTH = 6,        E3M2FN_EXPONENT = 3,        E3M2FN_BIAS = 3;
  localparam int E2M3FN_WIDTH = 6,        E2M3FN_EXPONENT = 2,        E2M3FN_BIAS = 1;
  localparam int E2M1FN_WIDTH = 4,        E2M1FN_EXPONENT = 2,        E2M1FN_BIAS = 1;
  localparam int E8M0FNU_WIDTH = 8,       E8M0FNU_EXPONENT = 8,       E8M0FNU_BIAS = 127;
  localparam int BINARY16_WIDTH = 16,     BINARY16_EXPONENT = 5,      BINARY16_BIAS = 15;
  localparam int BFLOAT16_WIDTH = 16,     BFLOAT16_EXPONENT = 8,      BFLOAT16_BIAS = 127;
  localparam int BINARY32_WIDTH = 32,     BINARY32_EXPONENT = 8,      BINARY32_BIAS = 127;
  localparam int CFLOAT8_1_4_3_WIDTH = 8, CFLOAT8_1_4_3_EXPONENT = 4, CFLOAT8_BIAS_WIDTH = 6;
  localparam int CFLOAT8_1_5_2_WIDTH = 8, CFLOAT8_1_5_2_EXPONENT = 5;
  // verilator lint_on UNUSED

  // Handles.
  import "DPI-C" function chandle sf_op_with(input string text, input chandle projection, input string flags,
                                             input chandle error);
  import "DPI-C" function void sf_op_free(input chandle op);
  import "DPI-C" function chandle sf_format_new(input string name, input chandle error);
  import "DPI-C" function void sf_format_free(input chandle format);

  // Calls. A random word comes last among the operands.
  import "DPI-C" function int sf_call1(input chandle op, input longint unsigned x,
                                       output longint unsigned result, output int unsigned flags);
  import "DPI-C" function int sf_call2(input chandle op, input longint unsigned x, input longint unsigned y,
                                       output longint unsigned result, output int unsigned flags);
  import "DPI-C" function int sf_call3(input chandle op, input longint unsigned x, input longint unsigned y,
                                       input longint unsigned z, output longint unsigned result,
                                       output int unsigned flags);
  import "DPI-C" function int sf_call4(input chandle op, input longint unsigned x, input longint unsigned y,
                                       input longint unsigned z, input longint unsigned word,
                                       output longint unsigned result, output int unsigned flags);
  import "DPI-C" function int sf_format_classify(input chandle format, input longint unsigned code, output int kind);
  import "DPI-C" function int sf_format_decode(input chandle format, input longint unsigned code, output real value);
  import "DPI-C" function int unsigned sf_random_word(input longint unsigned seed, input longint unsigned stream,
                                                      input longint unsigned element);
  import "DPI-C" function string sf_status_text(input int status);
  import "DPI-C" function void sf_print_mismatch(input chandle op, input longint unsigned x, input longint unsigned y,
                                                 input longint unsigned z, input longint unsigned word,
                                                 input longint unsigned given, input int unsigned flags,
                                                 input int unsigned mask);

  // An operation by its text, flags by a policy (tesla, ieee-before, ieee-after, riscv, arm, x86).
  function automatic chandle make(string text, string policy);
    chandle op = sf_op_with(text, null, policy, null);
    if (op == null) $fatal(1, "smallfloat does not understand %s with flags by %s", text, policy);
    return op;
  endfunction

  // Compares a result with the model's, and returns whether it is right; the flags of `mask` count. What is
  // wrong is printed with its explanation.
  function automatic bit check1(chandle op, longint unsigned x, longint unsigned given, int unsigned flags,
                                int unsigned mask);
    longint unsigned right;
    int unsigned raised;
    int status = sf_call1(op, x, right, raised);
    return checked(op, status, right == given && ((raised ^ flags) & mask) == 0, x, 0, 0, 0, given, flags, mask);
  endfunction

  function automatic bit check2(chandle op, longint unsigned x, longint unsigned y, longint unsigned given,
                                int unsigned flags, int unsigned mask);
    longint unsigned right;
    int unsigned raised;
    int status = sf_call2(op, x, y, right, raised);
    return checked(op, status, right == given && ((raised ^ flags) & mask) == 0, x, y, 0, 0, given, flags, mask);
  endfunction

  function automatic bit check3(chandle op, longint unsigned x, longint unsigned y, longint unsigned z,
                                longint unsigned given, int unsigned flags, int unsigned mask);
    longint unsigned right;
    int unsigned raised;
    int status = sf_call3(op, x, y, z, right, raised);
    return checked(op, status, right == given && ((raised ^ flags) & mask) == 0, x, y, z, 0, given, flags, mask);
  endfunction

  function automatic bit checked(chandle op, int status, bit agrees, longint unsigned x, longint unsigned y,
                                 longint unsigned z, longint unsigned word, longint unsigned given,
                                 int unsigned flags, int unsigned mask);
    if (status != SF_STATUS_OK) begin
      $error("smallfloat: %s", sf_status_text(status));
      return 1'b0;
    end
    if (!agrees) sf_print_mismatch(op, x, y, z, word, given, flags, mask);
    return agrees;
  endfunction

endpackage
