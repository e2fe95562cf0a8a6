//! What Quark's `quantization_config` says of the weights of a module.
//!
//! Source: AMD Quark's exports and vLLM's `quark` loader: `layer_quant_config` maps patterns of
//! modules' names to configurations, `global_quant_config` is that of all others.

use glob::Pattern;
use serde_json::Value;
use smallfloat::Format;
use smallfloat::formats::{E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2};

/// What is said of the weight of this name, where it is one object: weights that are quantized in
/// several steps have a list.
pub(crate) fn quark_weight<'a>(said: &'a Value, tensor: &str) -> Option<&'a Value> {
    let module = tensor.strip_suffix(".weight").unwrap_or(tensor);
    let fits = |pattern: &str| Pattern::new(pattern).is_ok_and(|pattern| pattern.matches(module));
    let of_layers = said.get("layer_quant_config").and_then(Value::as_object);
    let of_layer = of_layers.into_iter().flatten().find(|(pattern, _)| fits(pattern)).map(|(_, said)| said);
    let weight = of_layer.or_else(|| said.get("global_quant_config"))?.get("weight")?;
    weight.is_object().then_some(weight)
}

/// The format of a `dtype`.
pub(crate) fn quark_format(dtype: &str) -> Option<Format> {
    Some(match dtype {
        "fp4" => E2M1FN,
        "fp6_e2m3" => E2M3FN,
        "fp6_e3m2" => E3M2FN,
        "fp8_e4m3" => E4M3FN,
        "fp8_e5m2" => E5M2,
        _ => return None,
    })
}
