//! The tables of the RFC on E4M3B11FNUZ and of the P3109 report's talk, row by row as printed.

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64, E4M3B11FNUZ, E4M3FN, E4M3FNUZ, E5M2};
use smallfloat::{Class, Datum, Flags, Format, Preset, Rounding, convert};

/// The hypothetical 6-bit format after IEEE 754, as the talk prints it.
const SIX_BIT_IEEE: &str = "
    0x00 0_000_00 = 0.0
    0x01 0_000_01 = +0b0.01*2^-2 = 0.0625
    0x02 0_000_10 = +0b0.10*2^-2 = 0.125
    0x03 0_000_11 = +0b0.11*2^-2 = 0.1875
    0x04 0_001_00 = +0b1.00*2^-2 = 0.25
    0x05 0_001_01 = +0b1.01*2^-2 = 0.3125
    0x06 0_001_10 = +0b1.10*2^-2 = 0.375
    0x07 0_001_11 = +0b1.11*2^-2 = 0.4375
    0x08 0_010_00 = +0b1.00*2^-1 = 0.5
    0x09 0_010_01 = +0b1.01*2^-1 = 0.625
    0x0a 0_010_10 = +0b1.10*2^-1 = 0.75
    0x0b 0_010_11 = +0b1.11*2^-1 = 0.875
    0x0c 0_011_00 = +0b1.00*2^0 = 1.0
    0x0d 0_011_01 = +0b1.01*2^0 = 1.25
    0x0e 0_011_10 = +0b1.10*2^0 = 1.5
    0x0f 0_011_11 = +0b1.11*2^0 = 1.75
    0x10 0_100_00 = +0b1.00*2^1 = 2.0
    0x11 0_100_01 = +0b1.01*2^1 = 2.5
    0x12 0_100_10 = +0b1.10*2^1 = 3.0
    0x13 0_100_11 = +0b1.11*2^1 = 3.5
    0x14 0_101_00 = +0b1.00*2^2 = 4.0
    0x15 0_101_01 = +0b1.01*2^2 = 5.0
    0x16 0_101_10 = +0b1.10*2^2 = 6.0
    0x17 0_101_11 = +0b1.11*2^2 = 7.0
    0x18 0_110_00 = +0b1.00*2^3 = 8.0
    0x19 0_110_01 = +0b1.01*2^3 = 10.0
    0x1a 0_110_10 = +0b1.10*2^3 = 12.0
    0x1b 0_110_11 = +0b1.11*2^3 = 14.0
    0x1c 0_111_00 = inf
    0x1d 0_111_01 = nan
    0x1e 0_111_10 = nan
    0x1f 0_111_11 = nan
    0x20 1_000_00 = -0.0
    0x21 1_000_01 = -0b0.01*2^-2 = -0.0625
    0x22 1_000_10 = -0b0.10*2^-2 = -0.125
    0x23 1_000_11 = -0b0.11*2^-2 = -0.1875
    0x24 1_001_00 = -0b1.00*2^-2 = -0.25
    0x25 1_001_01 = -0b1.01*2^-2 = -0.3125
    0x26 1_001_10 = -0b1.10*2^-2 = -0.375
    0x27 1_001_11 = -0b1.11*2^-2 = -0.4375
    0x28 1_010_00 = -0b1.00*2^-1 = -0.5
    0x29 1_010_01 = -0b1.01*2^-1 = -0.625
    0x2a 1_010_10 = -0b1.10*2^-1 = -0.75
    0x2b 1_010_11 = -0b1.11*2^-1 = -0.875
    0x2c 1_011_00 = -0b1.00*2^0 = -1.0
    0x2d 1_011_01 = -0b1.01*2^0 = -1.25
    0x2e 1_011_10 = -0b1.10*2^0 = -1.5
    0x2f 1_011_11 = -0b1.11*2^0 = -1.75
    0x30 1_100_00 = -0b1.00*2^1 = -2.0
    0x31 1_100_01 = -0b1.01*2^1 = -2.5
    0x32 1_100_10 = -0b1.10*2^1 = -3.0
    0x33 1_100_11 = -0b1.11*2^1 = -3.5
    0x34 1_101_00 = -0b1.00*2^2 = -4.0
    0x35 1_101_01 = -0b1.01*2^2 = -5.0
    0x36 1_101_10 = -0b1.10*2^2 = -6.0
    0x37 1_101_11 = -0b1.11*2^2 = -7.0
    0x38 1_110_00 = -0b1.00*2^3 = -8.0
    0x39 1_110_01 = -0b1.01*2^3 = -10.0
    0x3a 1_110_10 = -0b1.10*2^3 = -12.0
    0x3b 1_110_11 = -0b1.11*2^3 = -14.0
    0x3c 1_111_00 = -inf
    0x3d 1_111_01 = nan
    0x3e 1_111_10 = nan
    0x3f 1_111_11 = nan
";

/// The 6-bit format after P3109.
const SIX_BIT_P3109: &str = "
    0x00 0_000_00 = 0.0
    0x01 0_000_01 = +0b0.01*2^-3 = 0.03125
    0x02 0_000_10 = +0b0.10*2^-3 = 0.0625
    0x03 0_000_11 = +0b0.11*2^-3 = 0.09375
    0x04 0_001_00 = +0b1.00*2^-3 = 0.125
    0x05 0_001_01 = +0b1.01*2^-3 = 0.15625
    0x06 0_001_10 = +0b1.10*2^-3 = 0.1875
    0x07 0_001_11 = +0b1.11*2^-3 = 0.21875
    0x08 0_010_00 = +0b1.00*2^-2 = 0.25
    0x09 0_010_01 = +0b1.01*2^-2 = 0.3125
    0x0a 0_010_10 = +0b1.10*2^-2 = 0.375
    0x0b 0_010_11 = +0b1.11*2^-2 = 0.4375
    0x0c 0_011_00 = +0b1.00*2^-1 = 0.5
    0x0d 0_011_01 = +0b1.01*2^-1 = 0.625
    0x0e 0_011_10 = +0b1.10*2^-1 = 0.75
    0x0f 0_011_11 = +0b1.11*2^-1 = 0.875
    0x10 0_100_00 = +0b1.00*2^0 = 1.0
    0x11 0_100_01 = +0b1.01*2^0 = 1.25
    0x12 0_100_10 = +0b1.10*2^0 = 1.5
    0x13 0_100_11 = +0b1.11*2^0 = 1.75
    0x14 0_101_00 = +0b1.00*2^1 = 2.0
    0x15 0_101_01 = +0b1.01*2^1 = 2.5
    0x16 0_101_10 = +0b1.10*2^1 = 3.0
    0x17 0_101_11 = +0b1.11*2^1 = 3.5
    0x18 0_110_00 = +0b1.00*2^2 = 4.0
    0x19 0_110_01 = +0b1.01*2^2 = 5.0
    0x1a 0_110_10 = +0b1.10*2^2 = 6.0
    0x1b 0_110_11 = +0b1.11*2^2 = 7.0
    0x1c 0_111_00 = +0b1.00*2^3 = 8.0
    0x1d 0_111_01 = +0b1.01*2^3 = 10.0
    0x1e 0_111_10 = +0b1.10*2^3 = 12.0
    0x1f 0_111_11 = inf
    0x20 1_000_00 = nan
    0x21 1_000_01 = -0b0.01*2^-3 = -0.03125
    0x22 1_000_10 = -0b0.10*2^-3 = -0.0625
    0x23 1_000_11 = -0b0.11*2^-3 = -0.09375
    0x24 1_001_00 = -0b1.00*2^-3 = -0.125
    0x25 1_001_01 = -0b1.01*2^-3 = -0.15625
    0x26 1_001_10 = -0b1.10*2^-3 = -0.1875
    0x27 1_001_11 = -0b1.11*2^-3 = -0.21875
    0x28 1_010_00 = -0b1.00*2^-2 = -0.25
    0x29 1_010_01 = -0b1.01*2^-2 = -0.3125
    0x2a 1_010_10 = -0b1.10*2^-2 = -0.375
    0x2b 1_010_11 = -0b1.11*2^-2 = -0.4375
    0x2c 1_011_00 = -0b1.00*2^-1 = -0.5
    0x2d 1_011_01 = -0b1.01*2^-1 = -0.625
    0x2e 1_011_10 = -0b1.10*2^-1 = -0.75
    0x2f 1_011_11 = -0b1.11*2^-1 = -0.875
    0x30 1_100_00 = -0b1.00*2^0 = -1.0
    0x31 1_100_01 = -0b1.01*2^0 = -1.25
    0x32 1_100_10 = -0b1.10*2^0 = -1.5
    0x33 1_100_11 = -0b1.11*2^0 = -1.75
    0x34 1_101_00 = -0b1.00*2^1 = -2.0
    0x35 1_101_01 = -0b1.01*2^1 = -2.5
    0x36 1_101_10 = -0b1.10*2^1 = -3.0
    0x37 1_101_11 = -0b1.11*2^1 = -3.5
    0x38 1_110_00 = -0b1.00*2^2 = -4.0
    0x39 1_110_01 = -0b1.01*2^2 = -5.0
    0x3a 1_110_10 = -0b1.10*2^2 = -6.0
    0x3b 1_110_11 = -0b1.11*2^2 = -7.0
    0x3c 1_111_00 = -0b1.00*2^3 = -8.0
    0x3d 1_111_01 = -0b1.01*2^3 = -10.0
    0x3e 1_111_10 = -0b1.10*2^3 = -12.0
    0x3f 1_111_11 = -inf
";

/// "All-bits-one-exponents", one column after the other.
const OCP_E4M3: &str = "
    0x71 0_1110_001 = +0b1.001*2^7
    0x72 0_1110_010 = +0b1.010*2^7
    0x73 0_1110_011 = +0b1.011*2^7
    0x74 0_1110_100 = +0b1.100*2^7
    0x75 0_1110_101 = +0b1.101*2^7
    0x76 0_1110_110 = +0b1.110*2^7
    0x77 0_1110_111 = +0b1.111*2^7
    0x78 0_1111_000 = +0b1.000*2^8
    0x79 0_1111_001 = +0b1.001*2^8
    0x7a 0_1111_010 = +0b1.010*2^8
    0x7b 0_1111_011 = +0b1.011*2^8
    0x7c 0_1111_100 = +0b1.100*2^8
    0x7d 0_1111_101 = +0b1.101*2^8
    0x7e 0_1111_110 = +0b1.110*2^8
    0x7f 0_1111_111 = nan
";

/// Its second column.
const OCP_E5M2: &str = "
    0x71 0_11100_01 = +0b1.01*2^13
    0x72 0_11100_10 = +0b1.10*2^13
    0x73 0_11100_11 = +0b1.11*2^13
    0x74 0_11101_00 = +0b1.00*2^14
    0x75 0_11101_01 = +0b1.01*2^14
    0x76 0_11101_10 = +0b1.10*2^14
    0x77 0_11101_11 = +0b1.11*2^14
    0x78 0_11110_00 = +0b1.00*2^15
    0x79 0_11110_01 = +0b1.01*2^15
    0x7a 0_11110_10 = +0b1.10*2^15
    0x7b 0_11110_11 = +0b1.11*2^15
    0x7c 0_11111_00 = inf
    0x7d 0_11111_01 = nan
    0x7e 0_11111_10 = nan
    0x7f 0_11111_11 = nan
";

/// Its third column.
const WG_P3: &str = "
    0x71 0_11100_01 = +0b1.01*2^12
    0x72 0_11100_10 = +0b1.10*2^12
    0x73 0_11100_11 = +0b1.11*2^12
    0x74 0_11101_00 = +0b1.00*2^13
    0x75 0_11101_01 = +0b1.01*2^13
    0x76 0_11101_10 = +0b1.10*2^13
    0x77 0_11101_11 = +0b1.11*2^13
    0x78 0_11110_00 = +0b1.00*2^14
    0x79 0_11110_01 = +0b1.01*2^14
    0x7a 0_11110_10 = +0b1.10*2^14
    0x7b 0_11110_11 = +0b1.11*2^14
    0x7c 0_11111_00 = +0b1.00*2^15
    0x7d 0_11111_01 = +0b1.01*2^15
    0x7e 0_11111_10 = +0b1.10*2^15
    0x7f 0_11111_11 = inf
";

/// Its fourth column.
const WG_P2: &str = "
    0x71 0_111000_1 = +0b1.1*2^24
    0x72 0_111001_0 = +0b1.0*2^25
    0x73 0_111001_1 = +0b1.1*2^25
    0x74 0_111010_0 = +0b1.0*2^26
    0x75 0_111010_1 = +0b1.1*2^26
    0x76 0_111011_0 = +0b1.0*2^27
    0x77 0_111011_1 = +0b1.1*2^27
    0x78 0_111100_0 = +0b1.0*2^28
    0x79 0_111100_1 = +0b1.1*2^28
    0x7a 0_111101_0 = +0b1.0*2^29
    0x7b 0_111101_1 = +0b1.1*2^29
    0x7c 0_111110_0 = +0b1.0*2^30
    0x7d 0_111110_1 = +0b1.1*2^30
    0x7e 0_111111_0 = +0b1.0*2^31
    0x7f 0_111111_1 = inf
";

/// Its fifth column, under the old rule for P = 1: bias 63.
const WG_P1: &str = "
    0x71 0_111001_ = +0b1.0*2^50
    0x72 0_111010_ = +0b1.0*2^51
    0x73 0_111011_ = +0b1.0*2^52
    0x74 0_1110100_ = +0b1.0*2^53
    0x75 0_1110101_ = +0b1.0*2^54
    0x76 0_1110110_ = +0b1.0*2^55
    0x77 0_1110111_ = +0b1.0*2^56
    0x78 0_1111000_ = +0b1.0*2^57
    0x79 0_1111001_ = +0b1.0*2^58
    0x7a 0_1111010_ = +0b1.0*2^59
    0x7b 0_1111011_ = +0b1.0*2^60
    0x7c 0_1111100_ = +0b1.0*2^61
    0x7d 0_1111101_ = +0b1.0*2^62
    0x7e 0_1111110_ = +0b1.0*2^63
    0x7f 0_1111111_ = inf
";

/// binary8p4 near zero.
const P4_WITH_SUBNORMALS: &str = "
    0x00 0_0000_000 = 0.0
    0x01 0_0000_001 = +0b0.001*2^-7 = ~0.001
    0x02 0_0000_010 = +0b0.010*2^-7 = ~0.002
    0x03 0_0000_011 = +0b0.011*2^-7 = ~0.003
    0x04 0_0000_100 = +0b0.100*2^-7 = ~0.004
    0x05 0_0000_101 = +0b0.101*2^-7 = ~0.005
    0x06 0_0000_110 = +0b0.110*2^-7 = ~0.006
    0x07 0_0000_111 = +0b0.111*2^-7 = ~0.007
    0x08 0_0001_000 = +0b1.000*2^-7 = ~0.008
    0x09 0_0001_001 = +0b1.001*2^-7 = ~0.009
    0x0a 0_0001_010 = +0b1.010*2^-7 = ~0.010
    0x0b 0_0001_011 = +0b1.011*2^-7 = ~0.011
    0x0c 0_0001_100 = +0b1.100*2^-7 = ~0.012
    0x0d 0_0001_101 = +0b1.101*2^-7 = ~0.013
    0x0e 0_0001_110 = +0b1.110*2^-7 = ~0.014
    0x0f 0_0001_111 = +0b1.111*2^-7 = ~0.015
";

/// The column "without subnormals".
const P4_WITHOUT_SUBNORMALS: &str = "
    0x00 0_0000_000 = 0.0
    0x01 0_0000_001 = +0b1.001*2^-8 = ~0.004
    0x02 0_0000_010 = +0b1.010*2^-8 = ~0.005
    0x03 0_0000_011 = +0b1.011*2^-8 = ~0.005
    0x04 0_0000_100 = +0b1.100*2^-8 = ~0.006
    0x05 0_0000_101 = +0b1.101*2^-8 = ~0.006
    0x06 0_0000_110 = +0b1.110*2^-8 = ~0.007
    0x07 0_0000_111 = +0b1.111*2^-8 = ~0.007
    0x08 0_0001_000 = +0b1.000*2^-7 = ~0.008
    0x09 0_0001_001 = +0b1.001*2^-7 = ~0.009
    0x0a 0_0001_010 = +0b1.010*2^-7 = ~0.010
    0x0b 0_0001_011 = +0b1.011*2^-7 = ~0.011
    0x0c 0_0001_100 = +0b1.100*2^-7 = ~0.012
    0x0d 0_0001_101 = +0b1.101*2^-7 = ~0.013
    0x0e 0_0001_110 = +0b1.110*2^-7 = ~0.014
    0x0f 0_0001_111 = +0b1.111*2^-7 = ~0.015
";

/// "Code to value mapping: binary8p4": the printed rows.
const BINARY8P4: &str = "
    0x00 00000000 0.0000.000 +0.000*2^-7 = 0.0
    0x01 00000001 0.0000.001 +0.001*2^-7 = 0.0009765625
    0x02 00000010 0.0000.010 +0.010*2^-7 = 0.001953125
    0x03 00000011 0.0000.011 +0.011*2^-7 = 0.0029296875
    0x04 00000100 0.0000.100 +0.100*2^-7 = 0.00390625
    0x05 00000101 0.0000.101 +0.101*2^-7 = 0.0048828125
    0x06 00000110 0.0000.110 +0.110*2^-7 = 0.005859375
    0x07 00000111 0.0000.111 +0.111*2^-7 = 0.0068359375
    0x08 00001000 0.0001.000 +1.000*2^-7 = 0.0078125
    0x09 00001001 0.0001.001 +1.001*2^-7 = 0.0087890625
    0x0a 00001010 0.0001.010 +1.010*2^-7 = 0.009765625
    0x0b 00001011 0.0001.011 +1.011*2^-7 = 0.0107421875
    0x0c 00001100 0.0001.100 +1.100*2^-7 = 0.01171875
    0x73 01110011 0.1110.011 +1.011*2^6 = 88.0
    0x74 01110100 0.1110.100 +1.100*2^6 = 96.0
    0x75 01110101 0.1110.101 +1.101*2^6 = 104.0
    0x76 01110110 0.1110.110 +1.110*2^6 = 112.0
    0x77 01110111 0.1110.111 +1.111*2^6 = 120.0
    0x78 01111000 0.1111.000 +1.000*2^7 = 128.0
    0x79 01111001 0.1111.001 +1.001*2^7 = 144.0
    0x7a 01111010 0.1111.010 +1.010*2^7 = 160.0
    0x7b 01111011 0.1111.011 +1.011*2^7 = 176.0
    0x7c 01111100 0.1111.100 +1.100*2^7 = 192.0
    0x7d 01111101 0.1111.101 +1.101*2^7 = 208.0
    0x7e 01111110 0.1111.110 +1.110*2^7 = 224.0
    0x7f 01111111 0.1111.111 +1.111*2^7 = +Inf
    0x80 10000000 1.0000.000 -0.000*2^-7 = NaN
    0x81 10000001 1.0000.001 -0.001*2^-7 = -0.0009765625
    0x82 10000010 1.0000.010 -0.010*2^-7 = -0.001953125
    0x83 10000011 1.0000.011 -0.011*2^-7 = -0.0029296875
    0x84 10000100 1.0000.100 -0.100*2^-7 = -0.00390625
    0x85 10000101 1.0000.101 -0.101*2^-7 = -0.0048828125
    0x86 10000110 1.0000.110 -0.110*2^-7 = -0.005859375
    0x87 10000111 1.0000.111 -0.111*2^-7 = -0.0068359375
    0x88 10001000 1.0001.000 -1.000*2^-7 = -0.0078125
    0x89 10001001 1.0001.001 -1.001*2^-7 = -0.0087890625
    0x8a 10001010 1.0001.010 -1.010*2^-7 = -0.009765625
    0x8b 10001011 1.0001.011 -1.011*2^-7 = -0.0107421875
    0x8c 10001100 1.0001.100 -1.100*2^-7 = -0.01171875
    0xf3 11110011 1.1110.011 -1.011*2^6 = -88.0
    0xf4 11110100 1.1110.100 -1.100*2^6 = -96.0
    0xf5 11110101 1.1110.101 -1.101*2^6 = -104.0
    0xf6 11110110 1.1110.110 -1.110*2^6 = -112.0
    0xf7 11110111 1.1110.111 -1.111*2^6 = -120.0
    0xf8 11111000 1.1111.000 -1.000*2^7 = -128.0
    0xf9 11111001 1.1111.001 -1.001*2^7 = -144.0
    0xfa 11111010 1.1111.010 -1.010*2^7 = -160.0
    0xfb 11111011 1.1111.011 -1.011*2^7 = -176.0
    0xfc 11111100 1.1111.100 -1.100*2^7 = -192.0
    0xfd 11111101 1.1111.101 -1.101*2^7 = -208.0
    0xfe 11111110 1.1111.110 -1.110*2^7 = -224.0
    0xff 11111111 1.1111.111 -1.111*2^7 = -Inf
";

/// "Code to value mapping: binary8p3": the printed rows.
const BINARY8P3: &str = "
    0x00 00000000 0.00000.00 +0.00*2^-15 = 0.0
    0x01 00000001 0.00000.01 +0.01*2^-15 = 7.62939453125e-06
    0x02 00000010 0.00000.10 +0.10*2^-15 = 1.52587890625e-05
    0x03 00000011 0.00000.11 +0.11*2^-15 = 2.288818359375e-05
    0x04 00000100 0.00001.00 +1.00*2^-15 = 3.0517578125e-05
    0x05 00000101 0.00001.01 +1.01*2^-15 = 3.814697265625e-05
    0x06 00000110 0.00001.10 +1.10*2^-15 = 4.57763671875e-05
    0x07 00000111 0.00001.11 +1.11*2^-15 = 5.340576171875e-05
    0x08 00001000 0.00010.00 +1.00*2^-14 = 6.103515625e-05
    0x09 00001001 0.00010.01 +1.01*2^-14 = 7.62939453125e-05
    0x0a 00001010 0.00010.10 +1.10*2^-14 = 9.1552734375e-05
    0x0b 00001011 0.00010.11 +1.11*2^-14 = 0.0001068115234375
    0x0c 00001100 0.00011.00 +1.00*2^-13 = 0.0001220703125
    0x73 01110011 0.11100.11 +1.11*2^12 = 7168.0
    0x74 01110100 0.11101.00 +1.00*2^13 = 8192.0
    0x75 01110101 0.11101.01 +1.01*2^13 = 10240.0
    0x76 01110110 0.11101.10 +1.10*2^13 = 12288.0
    0x77 01110111 0.11101.11 +1.11*2^13 = 14336.0
    0x78 01111000 0.11110.00 +1.00*2^14 = 16384.0
    0x79 01111001 0.11110.01 +1.01*2^14 = 20480.0
    0x7a 01111010 0.11110.10 +1.10*2^14 = 24576.0
    0x7b 01111011 0.11110.11 +1.11*2^14 = 28672.0
    0x7c 01111100 0.11111.00 +1.00*2^15 = 32768.0
    0x7d 01111101 0.11111.01 +1.01*2^15 = 40960.0
    0x7e 01111110 0.11111.10 +1.10*2^15 = 49152.0
    0x7f 01111111 0.11111.11 +1.11*2^15 = +Inf
    0x80 10000000 1.00000.00 -0.00*2^-15 = NaN
    0x81 10000001 1.00000.01 -0.01*2^-15 = -7.62939453125e-06
    0x82 10000010 1.00000.10 -0.10*2^-15 = -1.52587890625e-05
    0x83 10000011 1.00000.11 -0.11*2^-15 = -2.288818359375e-05
    0x84 10000100 1.00001.00 -1.00*2^-15 = -3.0517578125e-05
    0x85 10000101 1.00001.01 -1.01*2^-15 = -3.814697265625e-05
    0x86 10000110 1.00001.10 -1.10*2^-15 = -4.57763671875e-05
    0x87 10000111 1.00001.11 -1.11*2^-15 = -5.340576171875e-05
    0x88 10001000 1.00010.00 -1.00*2^-14 = -6.103515625e-05
    0x89 10001001 1.00010.01 -1.01*2^-14 = -7.62939453125e-05
    0x8a 10001010 1.00010.10 -1.10*2^-14 = -9.1552734375e-05
    0x8b 10001011 1.00010.11 -1.11*2^-14 = -0.0001068115234375
    0x8c 10001100 1.00011.00 -1.00*2^-13 = -0.0001220703125
    0xf3 11110011 1.11100.11 -1.11*2^12 = -7168.0
    0xf4 11110100 1.11101.00 -1.00*2^13 = -8192.0
    0xf5 11110101 1.11101.01 -1.01*2^13 = -10240.0
    0xf6 11110110 1.11101.10 -1.10*2^13 = -12288.0
    0xf7 11110111 1.11101.11 -1.11*2^13 = -14336.0
    0xf8 11111000 1.11110.00 -1.00*2^14 = -16384.0
    0xf9 11111001 1.11110.01 -1.01*2^14 = -20480.0
    0xfa 11111010 1.11110.10 -1.10*2^14 = -24576.0
    0xfb 11111011 1.11110.11 -1.11*2^14 = -28672.0
    0xfc 11111100 1.11111.00 -1.00*2^15 = -32768.0
    0xfd 11111101 1.11111.01 -1.01*2^15 = -40960.0
    0xfe 11111110 1.11111.10 -1.10*2^15 = -49152.0
    0xff 11111111 1.11111.11 -1.11*2^15 = -Inf
";

fn format(name: &str) -> Format {
    name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What a printed row says about a code.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Printed {
    Nan,
    Infinite(bool),
    Zero(bool),
    /// Sign, odd significand, exponent.
    Number(bool, u64, i32),
}

/// The digits of `[+|-][0b]1.001*2^-8`.
fn binary(text: &str) -> Printed {
    let negative = text.starts_with('-');
    let text = text.trim_start_matches(['+', '-']).trim_start_matches("0b");
    let (digits, exponent) = text.split_once("*2^").expect("a binary number");
    let (whole, fraction) = digits.split_once('.').expect("a point");
    let significand = u64::from_str_radix(&format!("{whole}{fraction}"), 2).expect("binary digits");
    let exponent: i32 = exponent.parse().expect("an exponent");
    let exponent = exponent - i32::try_from(fraction.len()).unwrap();
    if significand == 0 {
        return Printed::Zero(negative);
    }
    let zeros = significand.trailing_zeros();
    Printed::Number(negative, significand >> zeros, exponent + zeros.cast_signed())
}

fn decoded(f: &Format, code: u64) -> Printed {
    match f.decode(code) {
        Datum::Nan { .. } => Printed::Nan,
        Datum::Infinite { negative } => Printed::Infinite(negative),
        Datum::Finite { negative, significand: 0, .. } => Printed::Zero(negative),
        Datum::Finite { negative, significand, exponent } => Printed::Number(negative, significand, exponent),
    }
}

/// Checks every row `0xNN … = value [= decimal]` of a table: decoding gives the printed value, the
/// printed decimal (if exact) encodes to the code. Returns the number of rows.
fn check(f: &Format, table: &str) -> usize {
    let projection = f.default_projection();
    for row in table.trim().lines() {
        let row = row.trim();
        let code = u64::from_str_radix(&row[2..4], 16).expect("a code");
        let fields: Vec<&str> = row.split(" = ").map(str::trim).collect();
        let last = *fields.last().expect("a value");
        let expected = match last.trim_start_matches(['+', '-']) {
            "nan" | "NaN" => Printed::Nan,
            "inf" | "Inf" => Printed::Infinite(last.starts_with('-')),
            "0.0" => Printed::Zero(last.starts_with('-')),
            // The binary form stands before the decimal, or alone; other text may precede it.
            _ => {
                let form = fields.iter().find(|field| field.contains("*2^")).expect("a binary form");
                binary(form.rsplit(' ').next().expect("text"))
            }
        };
        assert_eq!(decoded(f, code), expected, "{f}: {row}");
        if let Some(rounded) = last.strip_prefix('~') {
            let value = f.decode(code).to_f64().expect("exact");
            assert_eq!(format!("{value:.3}"), rounded, "{f}: {row}");
        } else if !last.contains("*2^") && expected != Printed::Nan {
            let encoded = f.encode_text(last, &projection).expect("a number");
            assert_eq!((encoded.value, encoded.flags), (code, Flags::NONE), "{f}: {row}");
            if let Some(bits) = BINARY64.encode(f.decode(code)) {
                let decimal: f64 = last.parse().expect("a decimal");
                assert_eq!(bits, decimal.to_bits(), "{f}: {row}");
            }
        }
    }
    table.trim().lines().count()
}

/// Codes with significand and exponent.
type ClassSums = [(u64, u64, i32); 4];

#[test]
fn rfc_table_of_e4m3fn_e4m3fnuz_and_e4m3b11fnuz() {
    // Bias; min normal, max normal, min subnormal, max subnormal as code and significand ·
    // 2^exponent.
    let columns: [(Format, i32, ClassSums); 3] = [
        (E4M3FN, 7, [(0x08, 1, -6), (0x7E, 7, 6), (0x01, 1, -9), (0x07, 7, -9)]),
        (E4M3FNUZ, 8, [(0x08, 1, -7), (0x7F, 15, 4), (0x01, 1, -10), (0x07, 7, -10)]),
        (E4M3B11FNUZ, 11, [(0x08, 1, -10), (0x7F, 15, 1), (0x01, 1, -13), (0x07, 7, -13)]),
    ];
    for (f, bias, cells) in columns {
        assert_eq!((f.bias(), f.width(), f.exponent_bits(), f.trailing_bits()), (bias, 8, 4, 3), "{f}");
        for (code, significand, exponent) in cells {
            for (code, negative) in [(code, false), (code | 0x80, true)] {
                assert_eq!(
                    decoded(&f, code),
                    Printed::Number(negative, significand, exponent),
                    "{f} {code:#x}"
                );
            }
        }
        let classes = cells.map(|(code, ..)| f.classify(code));
        assert_eq!(classes, [Class::Normal, Class::Normal, Class::Subnormal, Class::Subnormal], "{f}");
        let values = [Some(f.min_normal()), Some(f.max_finite()), Some(f.min_positive()), f.max_subnormal()];
        for (value, (code, ..)) in values.into_iter().zip(cells) {
            assert_eq!(value, Some(f.decode(code)), "{f} {code:#x}");
        }
        assert!(!f.has_infinity() && (0..256).all(|code| f.classify(code) != Class::Infinite), "{f}");
        let nans: Vec<u64> = (0..256).filter(|code| f.decode(*code).is_nan()).collect();
        let minus_zero = f == E4M3FN;
        assert_eq!(nans, if minus_zero { vec![0x7F, 0xFF] } else { vec![0x80] }, "{f}");
        assert_eq!(f.has_negative_zero(), minus_zero, "{f}");
        // −0 is representable in E4M3FN only: elsewhere it becomes 0, never the NaN on its code.
        let r = f.encode_f32(-0.0, &f.default_projection());
        assert_eq!((r.value, r.flags), (if minus_zero { 0x80 } else { 0x00 }, Flags::NONE), "{f}");
    }
    // The decimals that the table prints: 448, 240, 30.
    for (f, max) in [(E4M3FN, 448.0_f64), (E4M3FNUZ, 240.0), (E4M3B11FNUZ, 30.0)] {
        assert_eq!(f.max_finite().to_f64().map(f64::to_bits), Some(max.to_bits()), "{f}");
    }
}

#[test]
fn six_bit_tables() {
    assert_eq!(check(&format("ieee:k=6,p=3"), SIX_BIT_IEEE), 64);
    assert_eq!(check(&format("binary6p3se"), SIX_BIT_P3109), 64);
    // "6 NaNs, one negative zero, ±infinity, 3 subnormals" against "just one NaN".
    let (ieee, p3109) = (format("ieee:k=6,p=3"), format("binary6p3se"));
    for (f, nans, infinities, subnormals) in [(ieee, 6, 2, 6), (p3109, 1, 2, 6)] {
        let count = |class| (0..64).filter(|code| f.classify(*code) == class).count();
        let counts = (count(Class::Nan), count(Class::Infinite), count(Class::Subnormal));
        assert_eq!(counts, (nans, infinities, subnormals), "{f}");
    }
    assert!(ieee.has_negative_zero() && !p3109.has_negative_zero());
}

#[test]
fn all_bits_one_exponents() {
    let columns = [
        (E4M3FN, OCP_E4M3, 0x7E),
        (E5M2, OCP_E5M2, 0x7B),
        (format("binary8p3"), WG_P3, 0x7E),
        (format("binary8p2"), WG_P2, 0x7E),
        (format("minifloat:k=8,p=1,bias=63,specials=p3109-extended"), WG_P1, 0x7E),
    ];
    for (f, table, max) in columns {
        assert_eq!(check(&f, table), 15);
        // "maxFinite highlighted in yellow".
        assert_eq!(f.encode(f.max_finite()), Some(max), "{f}");
    }
    // The draft of today has bias 64 for P = 1, so every value is half of the talk's.
    assert_eq!(decoded(&format("binary8p1se"), 0x7E), Printed::Number(false, 1, 62));
}

#[test]
fn parameters_of_the_talk() {
    for (p, emax, bias, w, t) in [(5, 3, 4, 3, 4), (4, 7, 8, 4, 3), (3, 15, 16, 5, 2)] {
        let f = format(&format!("binary8p{p}"));
        let parameters = (f.width(), f.precision(), f.exponent_range().1, f.bias());
        assert_eq!(parameters, (8, p, emax, bias), "{f}");
        assert_eq!((f.exponent_bits(), f.trailing_bits()), (w, t), "{f}");
    }
    for (f, k, p, emax, w, t) in
        [(BINARY16, 16, 11, 15, 5, 10), (BINARY32, 32, 24, 127, 8, 23), (BINARY64, 64, 53, 1023, 11, 52)]
    {
        let parameters = (f.width(), f.precision(), f.exponent_range().1, f.bias());
        assert_eq!(parameters, (k, p, emax, emax), "{f}");
        assert_eq!((f.exponent_bits(), f.trailing_bits()), (w, t), "{f}");
    }
    for p in 1..=7 {
        let f = format(&format!("binary8p{p}se"));
        // Near-symmetric about 1: 63 encodings below, 63 from 1 to the largest finite value.
        let one = Datum::finite(false, 1, 0);
        let below = (1..0x7F).filter(|c| f.decode(*c).compare(&one).is_some_and(std::cmp::Ordering::is_lt));
        assert_eq!((below.count(), f.decode(0x40)), (63, one), "{f}");
        // Exact in binary32; in binary16 for P > 2 only.
        assert!(f.fits_in(&BINARY32) && f.fits_in(&BFLOAT16), "{f}");
        assert_eq!(f.fits_in(&BINARY16), p > 2, "{f}");
    }
}

#[test]
fn binary8p4_code_table() {
    assert_eq!(check(&format("binary8p4"), BINARY8P4), 52);
    assert_eq!(format("binary8p4"), format("binary8p4se"));
}

#[test]
fn binary8p3_code_table() {
    assert_eq!(check(&format("binary8p3"), BINARY8P3), 52);
    assert_eq!(format("binary8p3"), format("binary8p3se"));
}

#[test]
fn with_and_without_subnormals() {
    assert_eq!(check(&format("binary8p4se"), P4_WITH_SUBNORMALS), 16);
    let without = format("minifloat:k=8,p=4,bias=8,specials=p3109-extended,subnormals=none");
    assert_eq!(check(&without, P4_WITHOUT_SUBNORMALS), 16);
    // "minFloat 0.0010 and 0.0044: the dynamic range increases by more than 4".
    let smallest = |f: &Format| f.min_positive().to_f64().expect("exact").to_bits();
    assert_eq!(smallest(&format("binary8p4se")), 0.000_976_562_5_f64.to_bits());
    assert_eq!(smallest(&without), 0.004_394_531_25_f64.to_bits());
    // From code 08 on both columns are one.
    for code in (0x08..=0x80).chain(0x88..=0xFF) {
        assert_eq!(decoded(&without, code), decoded(&format("binary8p4se"), code), "{code:#x}");
    }
}

#[test]
fn binary4p2_with_and_without_infinity() {
    let (extended, finite) = (format("binary4p2"), format("binary4p2f"));
    assert_eq!((extended, finite), (format("binary4p2se"), format("binary4p2sf")));
    let magnitudes = [(1, -2), (1, -1), (3, -2), (1, 0), (3, -1), (1, 1)];
    for f in [extended, finite] {
        assert_eq!((decoded(&f, 0), decoded(&f, 8)), (Printed::Zero(false), Printed::Nan), "{f}");
        for (code, (significand, exponent)) in (1..).zip(magnitudes) {
            assert_eq!(decoded(&f, code), Printed::Number(false, significand, exponent), "{f} {code}");
            assert_eq!(decoded(&f, code | 8), Printed::Number(true, significand, exponent), "{f} {code}");
        }
    }
    assert_eq!(
        (decoded(&extended, 7), decoded(&extended, 15)),
        (Printed::Infinite(false), Printed::Infinite(true))
    );
    assert_eq!(decoded(&finite, 7), Printed::Number(false, 3, 0));
    assert_eq!(decoded(&finite, 15), Printed::Number(true, 3, 0));
    // "← Max": 2.0 and 3.0; printed to one decimal.
    assert_eq!(
        (extended.encode(extended.max_finite()), finite.encode(finite.max_finite())),
        (Some(6), Some(7))
    );
    for (code, printed) in ["0.0", "0.2", "0.5", "0.8", "1.0", "1.5", "2.0", "3.0"].into_iter().enumerate() {
        let value = finite.decode(code as u64).to_f64().expect("exact");
        assert_eq!(format!("{value:.1}"), printed);
    }
}

/// fma(3/1024, 49152, 2^−17) = 144.000007629453…: 160 in binary8p3, and 128 by way of binary32.
#[test]
fn double_rounding_through_binary32() {
    let f = format("binary8p3se");
    let projection = f.default_projection();
    let (c128, c160) = (0x5C, 0x5D);
    assert_eq!(
        (decoded(&f, c128), decoded(&f, c160)),
        (Printed::Number(false, 1, 7), Printed::Number(false, 5, 5))
    );
    // 144 + 2^−17, exact in binary64.
    let x = 144.0 + f64::from_bits((1023 - 17) << 52);
    assert_eq!(format!("{x:.12}"), "144.000007629395"); // the slide prints …7629453: it lost the digits 39
    assert_eq!(f.encode_f64(x, &projection).value, c160);
    assert_eq!(f.encode_text("144.00000762939453125", &projection).expect("a number").value, c160);
    assert_eq!(f.encode_text("144.000007629453", &projection).expect("a number").value, c160);
    let narrow = convert(x.to_bits(), &BINARY64, &BINARY32, &BINARY32.default_projection());
    assert_eq!(narrow.value, u64::from(144.0_f32.to_bits()));
    assert_eq!(convert(narrow.value, &BINARY32, &f, &projection).value, c128);
    // Rounding to odd on the way keeps the information.
    let odd = BINARY32.default_projection().with_rounding(Rounding::ToOdd);
    let narrow = convert(x.to_bits(), &BINARY64, &BINARY32, &odd);
    assert_eq!(convert(narrow.value, &BINARY32, &f, &projection).value, c160);
}

/// The talk's Convert: any NaN → NaN; ±Inf → ±max if saturating, else kept; −0 → 0.
#[test]
fn convert_table_of_the_talk() {
    for (name, max) in [("binary8p3", 0x7E), ("binary8p4", 0x7E)] {
        let f = format(name);
        for (preset, infinity) in [(Preset::P3109SatFinite, max), (Preset::P3109SatNone, 0x7F)] {
            let projection = preset.projection(&f);
            for nan in [0x7FC0_0000, 0xFFC0_0000, 0x7F80_0001, 0xFFFF_FFFF] {
                assert_eq!(convert(nan, &BINARY32, &f, &projection).value, 0x80, "{name}");
            }
            assert_eq!(convert(0x7F80_0000, &BINARY32, &f, &projection).value, infinity, "{name}");
            assert_eq!(convert(0xFF80_0000, &BINARY32, &f, &projection).value, infinity | 0x80, "{name}");
            let r = convert(0x8000_0000, &BINARY32, &f, &projection);
            assert_eq!((r.value, r.flags), (0, Flags::NONE), "{name}");
        }
    }
    // And back: NaN and ±Inf stay what they are.
    let (f, projection) = (format("binary8p3"), Preset::P3109SatNone.projection(&BINARY32));
    for (code, bits) in [(0x80, 0x7FC0_0000), (0x7F, 0x7F80_0000), (0xFF, 0xFF80_0000), (0x00, 0)] {
        assert_eq!(convert(code, &f, &BINARY32, &projection).value, bits);
    }
}
