//! A rule, and how it becomes CEL.

use crate::config::Gate;

use super::Scope;

/// One rule of an object.
///
/// - `wrong` is CEL that holds where the rule is broken. `$name` stands for a variable of the policy; in a rule about
///   the elements of a list, `it` is the element.
/// - `field` is the path of the field as it is in an instance. `#` stands for the place of the element in its list.
/// - `says` is what is wrong and what would be right. What stands in braces is CEL whose value is shown.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name, unique in a policy.
    pub id: &'static str,
    /// The feature gate without which what `wrong` finds is not permitted.
    gate: Option<Gate>,
    /// The variable with the list whose elements are judged.
    each: Option<&'static str>,
    wrong: &'static str,
    field: &'static str,
    says: &'static str,
}

impl Rule {
    /// A rule about the whole object.
    pub(super) const fn one(id: &'static str, wrong: &'static str, field: &'static str, says: &'static str) -> Self {
        Self { id, gate: None, each: None, wrong, field, says }
    }

    /// A rule about every element of a list.
    pub(super) const fn each(id: &'static str, list: &'static str, wrong: &'static str, field: &'static str, says: &'static str) -> Self {
        Self { each: Some(list), ..Self::one(id, wrong, field, says) }
    }

    /// What `used` finds needs a feature.
    pub(super) const fn gated(id: &'static str, gate: Gate, used: &'static str, field: &'static str) -> Self {
        Self { gate: Some(gate), ..Self::one(id, used, field, "") }
    }

    /// The elements that `used` finds need a feature.
    pub(super) const fn gated_each(id: &'static str, gate: Gate, list: &'static str, used: &'static str, field: &'static str) -> Self {
        Self { each: Some(list), ..Self::gated(id, gate, used, field) }
    }

    /// The field that it names.
    #[cfg(test)]
    pub(super) fn place(&self, scope: &Scope) -> String {
        scope.path(self.field)
    }

    /// The gate that decides whether the rule counts.
    pub(super) fn gate(&self) -> Option<Gate> {
        self.gate
    }

    /// True where the rule is kept.
    fn expression(&self) -> String {
        let wrong = variables(self.wrong);
        let kept = match self.each {
            Some(list) => format!("!variables.{list}.exists(it, {wrong})"),
            None => format!("!({wrong})"),
        };
        match self.gate {
            Some(gate) => format!("variables.{} || {kept}", super::variables::gate_name(gate)),
            None => kept,
        }
    }

    fn validation(&self, scope: &Scope) -> Validation {
        Validation {
            expression: self.expression(),
            message: match self.each {
                Some(_) => format!("{}.join('; ')", self.told(scope)),
                None => self.told(scope),
            },
            plain_message: self.plain_message(scope),
        }
    }

    /// CEL for what is told where the rule is broken: a text, or a list of them in a rule about elements.
    fn told(&self, scope: &Scope) -> String {
        let field = scope.path(self.field);
        let says = variables(&text(&self.says()));
        match self.each {
            Some(list) => {
                let place = format!("' + string(variables.{list}.indexOf(it)) + '");
                let told = format!("{} + {says}", literal(&format!("{field}: ")).replacen('#', &place, 1));
                format!("variables.{list}.filter(it, {}).map(it, {told})", variables(self.wrong))
            }
            None => format!("{} + {says}", literal(&format!("{field}: "))),
        }
    }

    /// CEL for the list of what is told, which is empty where the rule is kept.
    fn faults(&self, scope: &Scope) -> String {
        match (self.each, self.gate) {
            (Some(_), None) => self.told(scope),
            (Some(_), Some(_)) => format!("({} ? [] : {})", self.expression(), self.told(scope)),
            (None, _) => format!("({} ? [] : [{}])", self.expression(), self.told(scope)),
        }
    }

    /// What is told when the message cannot be made.
    fn plain_message(&self, scope: &Scope) -> String {
        let mut plain = format!("{}: ", scope.path(self.field).replace("[#]", "[]"));
        for part in parts(&self.says()) {
            plain.push_str(match part {
                Part::Text(text) => text,
                Part::Value(_) => "…",
            });
        }
        plain
    }

    fn says(&self) -> String {
        match self.gate {
            Some(gate) => format!(
                "this needs the feature gate {0}, which is off; enable {0} in the KubeVirt configuration, or leave this out",
                gate.name()
            ),
            None => self.says.to_owned(),
        }
    }

    /// All CEL of it, to see which variables it uses.
    pub(super) fn sources(&self) -> impl Iterator<Item = &'static str> {
        [self.wrong, self.says].into_iter()
    }

    /// The list that it is about.
    pub(super) fn list(&self) -> Option<&'static str> {
        self.each
    }
}

/// Rules that go together.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// What has to be there for any of them to be broken: then they are one validation, which costs next to nothing in
    /// objects that have nothing of it.
    when: Option<&'static str>,
    /// The rules.
    pub rules: &'static [Rule],
}

/// A validation of a policy.
pub(super) struct Validation {
    /// True where the object may pass.
    pub(super) expression: String,
    /// CEL for what is told otherwise.
    pub(super) message: String,
    /// What is told when that cannot be made.
    pub(super) plain_message: String,
}

impl Area {
    /// Rules of which every object may break some.
    pub(super) const fn always(rules: &'static [Rule]) -> Self {
        Self { when: None, rules }
    }

    /// Rules that matter where `guard` holds.
    pub(super) const fn when(guard: &'static str, rules: &'static [Rule]) -> Self {
        Self { when: Some(guard), rules }
    }

    /// Its validations by the rules that count.
    pub(super) fn validations(&self, scope: &Scope, counts: impl Fn(&Rule) -> bool) -> Vec<Validation> {
        let rules: Vec<&Rule> = self.rules.iter().filter(|rule| counts(rule)).collect();
        let Some(guard) = self.when.filter(|_| !rules.is_empty()) else {
            return rules.iter().map(|rule| rule.validation(scope)).collect();
        };
        let join = |parts: Vec<String>, with: &str| parts.join(with);
        let kept = rules.iter().map(|rule| format!("({})", rule.expression())).collect();
        let faults = rules.iter().map(|rule| rule.faults(scope)).collect();
        let plain = rules.iter().map(|rule| rule.plain_message(scope)).collect();
        vec![Validation {
            expression: format!("!({}) || ({})", variables(guard), join(kept, " && ")),
            message: format!("({}).join('; ')", join(faults, " + ")),
            plain_message: format!("one of these: {}", join(plain, "; ")),
        }]
    }

    /// What has to be there.
    pub(super) fn guard(&self) -> Option<&'static str> {
        self.when
    }
}

/// A piece of a text: words, or a value to show.
enum Part<'a> {
    Text(&'a str),
    Value(&'a str),
}

fn parts(says: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = says;
    while let Some((before, after)) = rest.split_once('{') {
        // A value may hold braces itself.
        let mut depth = 1_usize;
        let end = after.find(|c| {
            depth = match c {
                '{' => depth + 1,
                '}' => depth - 1,
                _ => depth,
            };
            depth == 0
        });
        let (value, after) = end.and_then(|end| Some((after.get(..end)?, after.get(end + 1..)?))).unwrap_or((after, ""));
        parts.push(Part::Text(before));
        parts.push(Part::Value(value));
        rest = after;
    }
    parts.push(Part::Text(rest));
    parts
}

/// A text as CEL.
fn text(says: &str) -> String {
    let pieces = parts(says).into_iter().filter_map(|part| match part {
        Part::Text("") => None,
        Part::Text(text) => Some(literal(text)),
        Part::Value(value) => Some(format!("string({value})")),
    });
    pieces.collect::<Vec<_>>().join(" + ")
}

/// A string of CEL.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// `$name` → `variables.name`. A `$` before anything else than a letter is one, as it is in regular expressions.
pub(super) fn variables(cel: &str) -> String {
    let mut written = String::with_capacity(cel.len());
    let mut characters = cel.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '$' if characters.peek().is_some_and(char::is_ascii_alphabetic) => written.push_str("variables."),
            c => written.push(c),
        }
    }
    written
}

/// The names of the variables that CEL uses.
pub(super) fn used(cel: &str) -> impl Iterator<Item = &str> {
    cel.split('$').skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest.get(..end).filter(|name| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: Scope = Scope::new(&[("spec", "spec.template.spec")]);

    #[test]
    fn a_rule_about_the_whole() {
        let rule = Rule::one("hostname", "$spec.?hostname.orValue('').matches('^-.*$')", "spec.hostname", "\"{$spec.hostname}\" isn't one");
        assert_eq!(rule.expression(), "!(variables.spec.?hostname.orValue('').matches('^-.*$'))");
        assert_eq!(rule.told(&SCOPE), r#"'spec.template.spec.hostname: ' + '"' + string(variables.spec.hostname) + '" isn\'t one'"#);
        assert_eq!(rule.plain_message(&SCOPE), "spec.template.spec.hostname: \"…\" isn't one");
        assert_eq!(rule.sources().flat_map(used).collect::<Vec<_>>(), ["spec", "spec"]);
    }

    #[test]
    fn a_rule_about_elements() {
        let rule = Rule::each("name", "disks", "it.name == ''", "spec.disks[#].name", "no name");
        assert_eq!(rule.expression(), "!variables.disks.exists(it, it.name == '')");
        assert_eq!(
            rule.validation(&SCOPE).message,
            "variables.disks.filter(it, it.name == '').map(it, 'spec.template.spec.disks[' + string(variables.disks.indexOf(it)) + \
             '].name: ' + 'no name').join('; ')"
        );
        assert_eq!(rule.plain_message(&SCOPE), "spec.template.spec.disks[].name: no name");
    }

    #[test]
    fn a_rule_that_counts_while_a_gate_is_closed() {
        let rule = Rule::gated("vsock", Gate::Vsock, "has($devices.autoattachVSOCK)", "spec.domain");
        assert_eq!(rule.expression(), "variables.gate_VSOCK || !(has(variables.devices.autoattachVSOCK))");
        assert!(rule.plain_message(&SCOPE).contains("feature gate VSOCK"));
    }

    #[test]
    fn an_area_is_one_validation_that_tells_all_its_faults() {
        const RULES: &[Rule] = &[
            Rule::one("a", "$spec.a", "spec.a", "no a"),
            Rule::each("b", "disks", "it.b", "spec.disks[#].b", "no b"),
            Rule::gated_each("c", Gate::Vsock, "disks", "it.c", "spec.disks[#].c"),
        ];
        let [validation] = <[Validation; 1]>::try_from(Area::when("$spec.x", RULES).validations(&SCOPE, |_| true)).ok().unwrap();
        assert_eq!(
            validation.expression,
            "!(variables.spec.x) || ((!(variables.spec.a)) && (!variables.disks.exists(it, it.b)) && \
             (variables.gate_VSOCK || !variables.disks.exists(it, it.c)))"
        );
        assert!(
            validation.message.starts_with("((!(variables.spec.a) ? [] : ['spec.template.spec.a: ' + 'no a']) + variables.disks.filter(")
        );
        assert!(
            validation.message.contains(" + (variables.gate_VSOCK || !variables.disks.exists(it, it.c) ? [] : variables.disks.filter(")
        );
        assert_eq!(Area::always(RULES).validations(&SCOPE, |rule| rule.id != "c").len(), 2);
        assert!(Area::when("$spec.x", RULES).validations(&SCOPE, |_| false).is_empty());
    }
}
