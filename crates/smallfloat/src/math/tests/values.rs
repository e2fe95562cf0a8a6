//! One value or more of each function, against decimals computed with mpmath 1.3.

use std::string::String;

use dashu_base::BitTest;
use dashu_int::UBig;

use crate::format::datum::Datum;
use crate::ops::Semantics;
use crate::ops::operation::Operation;
use crate::projection::exact::Exact;
use crate::projection::flags::Flags;

/// A function, its operand as an integer times a power of two, and the value's decimals, truncated.
const VALUES: [(&str, i64, i32, &str); 29] = [
    ("Exp", 1, 0, "2.71828182845904523536028747135266249775724709369995"),
    ("Exp2", 1, -1, "1.41421356237309504880168872420969807856967187537694"),
    ("ExpMinusOne", 1, -1, "0.64872127070012814684865078781416357165377610071014"),
    ("Log", 3, 0, "1.09861228866810969139524523692252570464749055782274"),
    ("Log2", 3, 0, "1.58496250072115618145373894394781650875981440769248"),
    ("LogOnePlus", 1, -1, "0.40546510810816438197801311546434913657199042346249"),
    ("Softplus", 1, 0, "1.31326168751822283404899549496785564191528008567034"),
    ("Sin", 1, 0, "0.84147098480789650665250232163029899962256306079837"),
    ("Cos", 1, 0, "0.54030230586813971740093660744297660373231042061792"),
    ("Tan", 1, 0, "1.55740772465490223050697480745836017308725077238152"),
    ("ArcSin", 1, -1, "0.52359877559829887307710723054658381403286156656251"),
    ("ArcCos", 1, -1, "1.04719755119659774615421446109316762806572313312503"),
    ("ArcTan", 1, 0, "0.78539816339744830961566084581987572104929234984377"),
    ("Sinh", 1, 0, "1.17520119364380145688238185059560081515571798133409"),
    ("Cosh", 1, 0, "1.54308063481524377847790562075706168260152911236586"),
    ("Tanh", 1, 0, "0.76159415595576488811945828260479359041276859725793"),
    ("ArcSinh", 1, 0, "0.88137358701954302523260932497979230902816032826163"),
    ("ArcCosh", 1, 1, "1.31695789692481670862504634730796844402698197146751"),
    ("ArcTanh", 1, -1, "0.54930614433405484569762261846126285232374527891137"),
    ("SinPi", 1, -2, "0.70710678118654752440084436210484903928483593768847"),
    ("CosPi", 1, -3, "0.92387953251128675612818318939678828682241662586364"),
    ("TanPi", 1, -3, "0.41421356237309504880168872420969807856967187537694"),
    ("ArcSinPi", 1, -1, "0.16666666666666666666666666666666666666666666666666"),
    ("ArcCosPi", 1, -1, "0.33333333333333333333333333333333333333333333333333"),
    ("ArcTanPi", 1, -1, "0.14758361765043327417540107622474052595113452388691"),
    ("Sin", 100, 0, "-0.50636564110975879365655761045978543206503272129065"),
    ("Exp", -10, 0, "0.00004539992976248485153559151556055061023791808886"),
    ("Softplus", -5, 0, "0.00671534848911806861641668773264207511489217296432"),
    ("Tan", 11, 0, "-225.95084645419514202579548320345315395165750988513119"),
];

fn exact(name: &str, x: Datum) -> Exact {
    let operation = name.parse::<Operation>().unwrap();
    let outcome = operation.exact([x, Datum::ZERO, Datum::ZERO], Semantics::Ieee);
    assert_eq!(outcome.flags, Flags::NONE, "{name}");
    outcome.exact
}

#[test]
fn values_have_the_known_digits() {
    for (name, x, exponent, decimal) in VALUES {
        let x = Datum::finite(x < 0, x.unsigned_abs(), exponent);
        let Exact::Finite { negative, significand, exponent, sticky: true } = exact(name, x) else {
            panic!("{name}({x}) is not truncated")
        };
        assert_eq!((significand.leading_zeros(), negative), (0, decimal.starts_with('-')), "{name}({x})");
        let digits: String = decimal.chars().filter(char::is_ascii_digit).collect();
        let decimals = decimal.split_once('.').unwrap().1.len();
        // d ≤ |f(x)|·10^n < d + 1 and s ≤ |f(x)|·2^−e < s + 1: the intervals must meet.
        let d = UBig::from_str_radix(&digits, 10).unwrap();
        assert!(d.bit_len() > 128, "{name}: more digits than the result's are needed");
        let ten = UBig::from(10_u8).pow(decimals);
        let places = usize::try_from(-exponent).unwrap();
        let s = UBig::from(significand);
        assert!(&s * &ten < (&d + UBig::ONE) << places, "{name}({x}) is too large: {significand}p{exponent}");
        assert!((&s + UBig::ONE) * &ten > d << places, "{name}({x}) is too small: {significand}p{exponent}");
    }
}

#[test]
fn every_function_has_a_value_here() {
    for &(name, _) in crate::ops::elementary::Elementary::NAMED {
        assert!(VALUES.iter().any(|row| row.0 == name), "{name}");
    }
}

#[test]
fn all_52_numeric_operations_of_the_draft_have_names() {
    let numeric = Operation::all().filter(|o| !matches!(o, Operation::Remainder | Operation::Fmod));
    assert_eq!(numeric.count(), 52);
    for operation in Operation::all() {
        assert_eq!(operation.name().parse::<Operation>().ok(), Some(operation));
    }
    let arity = |n| Operation::all().filter(|o| o.arity() == n).count();
    // P3109's 31, 18 and 3, and our two remainders.
    assert_eq!([arity(1), arity(2), arity(3)], [31, 20, 3]);
}
