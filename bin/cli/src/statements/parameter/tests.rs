use super::*;

#[test]
fn values_are_json_or_text() {
    for (text, expected) in [
        ("20", Value::from(20_i64)),
        ("9.90", "9.90".parse::<Decimal>().unwrap().into()),
        ("18446744073709551615", "18446744073709551615".parse::<Decimal>().unwrap().into()),
        ("1e300", 1e300.into()),
        ("\"20\"", "20".into()),
        ("open", "open".into()),
        ("007", "007".into()),
        ("", "".into()),
        ("null", Value::Null),
        ("true", true.into()),
        ("[1, \"a\"]", Value::List(vec![1_i64.into(), "a".into()])),
    ] {
        assert_eq!(value(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn a_name_stands_before_the_sign() {
    assert_eq!(named("status=open"), Some(("status", "open")));
    assert_eq!(named("a_1=x=y"), Some(("a_1", "x=y")));
    assert_eq!(named("\"a=b\""), None);
    assert_eq!(named("1=b"), None);
    assert_eq!(named("=b"), None);
    assert_eq!(named("a b=c"), None);
    assert_eq!(
        parameters(&["U1".into(), "status=open".into(), "\"a=b\"".into()]).unwrap(),
        Parameters::new().with("U1").named("status", "open").with("a=b")
    );
}
