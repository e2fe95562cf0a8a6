//! A SystemVerilog covergroup.
