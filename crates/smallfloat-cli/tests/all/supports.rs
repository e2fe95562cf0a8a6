//! `smallfloat supports`: answers, exit status, groups, and the declaration parsed back.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::str::contains;
use serde_json::Value;
use smallfloat::p3109::Specialization;

fn supports(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("smallfloat").expect("the command is built");
    command.arg("supports").args(args);
    command
}

fn yaml(folder: &Path, name: &str) -> Value {
    let text = fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(text.starts_with("# Written by smallfloat "), "{name}");
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn yes_or_no_with_a_reason() {
    for spec in [
        "Exp<Binary8p3se, Binary8p4se, (NearestTiesToEven, SatFinite)>",
        "BlockDotProduct<8, Binary8p1uf, Binary8p4se, Binary8p1uf, Binary8p4se, binary32, (NearestTiesToEven, SatNone)>",
        "ScaledAdd<(Binary8p1uf, Binary{8, 3, Signed, Extended}), (e8m0fnu, e5m2), BFloat16, (StochasticA<8>, SatNone)>",
    ] {
        supports(&[spec]).assert().success().stdout("yes\n");
    }
    for (spec, reason) in [
        ("Expo<Binary8p3se, Binary8p4se>", "no: unknown operation `Expo`, did you mean `Exp`?"),
        ("Exp<Binary8p8se, Binary8p4se>", "no: P = 8 is out of range"),
        ("TotalOrder<Binary8p3se, binary32>", "no: TotalOrder is not defined here"),
        ("BlockExp<0, (Binary8p1uf, Binary8p4se), Binary8p1uf, Binary8p4se>", "no: block length = 0"),
        ("Exp", "no: `Exp` is not understood"),
    ] {
        supports(&[spec]).assert().code(1).stdout(contains(reason));
    }
    let said = supports(&["TotalOrder<Binary8p3se, binary32>", "--json"]).output().expect("it ran");
    assert_eq!(said.status.code(), Some(1));
    let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    assert_eq!(said["supplied"], false);
    let said = supports(&["add<e5m2,e5m2,e5m2>", "--json"]).output().expect("it ran").stdout;
    let said: Value = serde_json::from_slice(&said).expect("JSON");
    assert_eq!(said["operation"], "Add<e5m2, e5m2, e5m2, (NearestTiesToEven, SatNone)>");
}

#[test]
fn short_names_get_a_note_and_long_text_is_cut() {
    supports(&["Exp<Binary8p3, binary8p4se>"])
        .assert()
        .success()
        .stdout("yes\nnote: D1 spells the suffix of `Binary8p3` out, `binary8p3se`\n");
    let said = supports(&["Exp<binary16, binary8p3>", "--json"]).output().expect("it ran").stdout;
    let said: Value = serde_json::from_slice(&said).expect("JSON");
    assert!(said["note"].as_str().is_some_and(|note| note.contains("`binary8p3se`")), "{said}");
    let long = format!("Exp<{}>", "x".repeat(10_000));
    for args in [&[&*long][..], &[&*long, "--json"]] {
        let said = supports(args).output().expect("it ran");
        assert!(said.status.code() == Some(1) && said.stdout.len() < 500, "{said:?}");
    }
}

#[test]
fn groups_are_counted() {
    supports(&[])
        .assert()
        .success()
        .stdout(contains("In all 69 scalar, 12 format-level, 58 block and 52 scaled operations."))
        .stdout(contains("BlockArcTan2Pi"))
        .stdout(contains("TotalOrder takes none of"));
}

#[test]
fn the_declaration_says_what_supports_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("p3109");
    let path = folder.to_str().expect("a name in text");
    supports(&["--declaration", path]).assert().success().stdout(contains("Kappas.yaml"));

    let inventory = supports(&["--json"]).output().expect("it ran").stdout;
    let inventory: Value = serde_json::from_slice(&inventory).expect("JSON");
    let operations = yaml(&folder, "StandardOperations.yaml");
    let groups = inventory["groups"].as_array().expect("groups");
    assert_eq!(operations["Groups"].as_object().map(serde_json::Map::len), Some(groups.len()));
    let mut count = 0;
    for group in groups {
        let declared = &operations["Groups"][group["name"].as_str().expect("a name")];
        assert_eq!(declared["functions"], group["functions"]);
        assert_eq!(declared["count"], group["count"]);
        count += group["count"].as_u64().expect("a count");
    }
    assert_eq!(count, 69 + 12 + 58 + 52);
    assert_eq!(operations["ProjectionQueries"], serde_json::json!(["RoundOf", "SatOf"]));

    let configurations = yaml(&folder, "Configurations.yaml");
    assert_eq!(configurations["Others"]["Formats"], inventory["formats"]);
    let drafts = &configurations["P3109"]["Formats"];
    assert_eq!((&drafts["P3109"]["count"], &drafts["others"]), (&504.into(), &Value::Null));
    assert_eq!(drafts["external"], inventory["formats"]["external"]);
    assert_eq!(
        configurations["P3109"]["Projections"]["SaturationModes"],
        serde_json::json!(["SatFinite", "SatPropagate", "SatNone"])
    );
    let projections = &configurations["Others"]["Projections"];
    let modes =
        ["deterministic", "stochastic"].map(|kind| projections["RoundingModes"][kind].as_array().cloned());
    let saturations = projections["SaturationModes"].as_array().expect("modes");
    for mode in modes.into_iter().flatten().flatten() {
        for saturation in saturations {
            let (mode, saturation) = (mode.as_str().expect("a mode"), saturation.as_str().expect("a mode"));
            let bits = if mode.starts_with("Stochastic") { "<60>" } else { "" };
            let spec = format!("Sin<Binary8p3se, Binary8p4ue, ({mode}{bits}, {saturation})>");
            supports(&[&spec]).assert().success().stdout("yes\n");
        }
    }

    let profiles = yaml(&folder, "Profiles.yaml");
    for (profile, count) in [
        ("MandatoryMinimum-binary32", 341),
        ("MandatoryMinimum-binary16", 341),
        ("MandatoryMinimum-BFloat16", 341),
        ("MandatoryMinimum-binary32-binary16-BFloat16", 549),
    ] {
        let list = profiles[profile]["specializations"].as_array().expect("a list");
        let names: BTreeSet<&str> = list.iter().filter_map(Value::as_str).collect();
        assert_eq!((list.len(), names.len()), (count, count), "{profile}");
        assert!(names.contains("Convert<Binary8p4se, Binary4p2sf, (NearestTiesToEven, SatNone)>"));
        assert_eq!(profiles[profile]["count"], count);
        for spec in names {
            // Case is the draft's.
            let supplied = spec.parse::<Specialization>().expect("supplied").to_string();
            assert!(supplied.eq_ignore_ascii_case(spec), "{supplied} is not {spec}");
        }
    }
    let (kappas, constraints) = (yaml(&folder, "Kappas.yaml"), yaml(&folder, "Constraints.yaml"));
    for name in ["P3109", "Others"] {
        assert_eq!(kappas[name]["kappa of all supplied operations"], 0);
        assert_eq!(profiles[name]["configuration"], name);
    }
    for (name, operation, requires) in [
        ("P3109", "TotalOrder", "neither fx nor fy"),
        ("P3109", "any with a projection", "not SatNone-V40"),
        ("Others", "TotalOrder", "neither fx nor fy"),
        ("Others", "MaxSubnormalOf", "subnormals, or a NaN"),
        ("Others", "any with scale=L", "1048576"),
    ] {
        let says = |row: &Value, key: &str, words: &str| row[key].as_str().is_some_and(|t| t.contains(words));
        let rows = constraints[name].as_array().expect("constraints");
        let found =
            rows.iter().any(|row| says(row, "operation", operation) && says(row, "requires", requires));
        assert!(found, "{name}: {operation}");
    }
    // What the constraint says is what is refused.
    supports(&["MaxSubnormalOf<minifloat:k=4,p=1,bias=3>"])
        .assert()
        .code(1)
        .stdout(contains("neither subnormals"));
    assert_eq!(yaml(&folder, "Metadata.yaml")["implementation"]["name"], "smallfloat");
}

#[test]
fn files_are_replaced_only_when_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a name in text");
    let kappas = folder.path().join("Kappas.yaml");
    fs::write(&kappas, "mine").expect("written");
    supports(&["--declaration", path]).assert().code(1).stderr(contains("--overwrite"));
    assert_eq!(fs::read_to_string(&kappas).expect("text"), "mine");
    // Nothing else was written beside it.
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    supports(&["--declaration", path, "--overwrite"]).assert().success();
    let first = fs::read_to_string(folder.path().join("Profiles.yaml")).expect("text");
    supports(&["--declaration", path, "--overwrite"]).assert().success();
    assert_eq!(fs::read_to_string(folder.path().join("Profiles.yaml")).expect("text"), first);
    supports(&["--declaration", path, "Exp<e5m2, e5m2>"]).assert().code(2);
    supports(&["--overwrite"]).assert().code(2);
}
