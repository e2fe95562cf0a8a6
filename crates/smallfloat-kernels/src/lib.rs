//! Conversions between slices of wide floats and small-float codes
