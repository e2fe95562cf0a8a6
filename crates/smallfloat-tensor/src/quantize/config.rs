//! `quantization_config` of a checkpoint's `config.json`.
//!
//! Sources: vLLM's `fp8` loader and transformers' `FineGrainedFP8Config` (`quant_method` `fp8`);
//! vLLM's `modelopt` and `quark` loaders; compressed-tensors 0.20, `QuantizationConfig`,
//! `QuantizationScheme` and the presets of
//! `quantization/quant_scheme.py`.

use serde_json::{Value, json};
use smallfloat::formats::{BINARY32, E4M3FN, E5M2, E8M0FNU};

use crate::layout::container::VERSION;
use crate::layout::grid::Granularity;
use crate::layout::scheme::{Config, Layout};
use crate::options::{Container, Options};

/// What readers of the layout must be told; `ignored` are the modules whose matrices are not
/// quantized.
pub(crate) fn quantization_config(options: &Options, layout: &Layout, ignored: &[String]) -> Option<Value> {
    if options.container == Container::Bf16 {
        return None;
    }
    match layout.config {
        Config::Own => Some(native()),
        Config::Fp8 => Some(fp8(options, ignored)),
        Config::Fp8Powers => {
            let mut config = fp8(options, ignored);
            config["scale_fmt"] = json!("ue8m0");
            Some(config)
        }
        Config::CompressedTensors(format) => Some(compressed(options, format, ignored)),
        Config::ModelOpt(algorithm) => Some(modelopt(options, algorithm, ignored)),
        Config::Quark => Some(quark(options, ignored)),
        Config::Mxfp4 => Some(json!({ "quant_method": "mxfp4", "modules_to_not_convert": ignored })),
        Config::BitsAndBytes(kind) => Some(json!({
            "quant_method": "bitsandbytes",
            "load_in_4bit": true,
            "load_in_8bit": false,
            "bnb_4bit_quant_type": kind,
            "bnb_4bit_use_double_quant": false,
            "bnb_4bit_compute_dtype": "bfloat16",
            "bnb_4bit_quant_storage": "uint8",
            "llm_int8_skip_modules": ignored,
        })),
        Config::Nothing | Config::Gguf(_) => None,
    }
}

/// The files describe themselves; the name keeps readers from taking the folder for one that is not
/// quantized.
fn native() -> Value {
    json!({ "quant_method": "smallfloat", "version": VERSION })
}

fn fp8(options: &Options, ignored: &[String]) -> Value {
    // CFloat8 stored as FP8 codes has as many significant bits as the FP8 format.
    let is_e5m2 = options.layout().is_ok_and(|format| format.precision() == E5M2.precision());
    let mut config = json!({
        "quant_method": "fp8",
        "fmt": if is_e5m2 { "e5m2" } else { "e4m3" },
        "activation_scheme": "dynamic",
    });
    if let Granularity::Block { rows, columns } = options.granularity {
        config["weight_block_size"] = json!([rows, columns]);
    }
    // One list for each of the two readers.
    config["ignored_layers"] = json!(ignored);
    config["modules_to_not_convert"] = json!(ignored);
    config
}

fn modelopt(options: &Options, algorithm: &str, ignored: &[String]) -> Value {
    let mut config = json!({ "quant_method": "modelopt", "quant_algo": algorithm, "ignore": ignored });
    if let Granularity::Block { rows: 1, columns } = options.granularity {
        config["group_size"] = json!(columns);
    }
    config
}

fn quark(options: &Options, ignored: &[String]) -> Value {
    let group_size = match options.granularity {
        Granularity::Block { columns, .. } => columns,
        Granularity::Tensor | Granularity::Channel => 0,
    };
    let weight = json!({
        "dtype": "fp4",
        "qscheme": "per_group",
        "group_size": group_size,
        "ch_axis": -1,
        "is_dynamic": false,
        "symmetric": null,
        "scale_format": "e8m0",
    });
    json!({
        "quant_method": "quark",
        "quant_mode": "eager_mode",
        "global_quant_config": { "weight": weight, "input_tensors": null, "output_tensors": null, "bias": null },
        "layer_quant_config": {},
        "layer_type_quant_config": {},
        "exclude": ignored,
        "export": { "pack_method": "reorder", "weight_format": "real_quantized", "weight_merge_groups": [] },
    })
}

fn compressed(options: &Options, format: &str, ignored: &[String]) -> Value {
    let scale = options.scale.map_or(BINARY32, |scale| scale.format);
    let bits = options.layout().map_or(8, |format| format.width());
    let global = options.scale.is_some_and(|scale| scale.global.is_some());
    let mut weights = json!({
        "num_bits": bits,
        "type": "float",
        "symmetric": true,
        "dynamic": false,
    });
    let strategy = match options.granularity {
        Granularity::Tensor => "tensor",
        Granularity::Channel => "channel",
        Granularity::Block { rows: 1, columns } => {
            weights["group_size"] = json!(columns);
            if global { "tensor_group" } else { "group" }
        }
        Granularity::Block { rows, columns } => {
            weights["block_structure"] = json!([rows, columns]);
            "block"
        }
    };
    weights["strategy"] = json!(strategy);
    if scale == E8M0FNU {
        weights["scale_dtype"] = json!("torch.uint8");
    } else if scale == E4M3FN {
        weights["scale_dtype"] = json!("torch.float8_e4m3fn");
    }
    json!({
        "quant_method": "compressed-tensors",
        "format": format,
        "quantization_status": "compressed",
        "config_groups": {
            "group_0": {
                "targets": ["Linear"],
                "weights": weights,
                "input_activations": null,
                "output_activations": null,
                "format": format,
            },
        },
        "ignore": ignored,
        "kv_cache_scheme": null,
        "global_compression_ratio": null,
    })
}
