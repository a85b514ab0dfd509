//! Writes XML as libvirt prints it: two spaces a level, attributes in single quotes, `<name/>` for what is empty.

use std::borrow::Cow;

/// A value of an attribute or the text of an element. An absent one is left out.
pub(super) trait Scalar {
    /// Appends the value, escaped; `false` (and nothing appended) when there is none.
    fn append(&self, to: &mut String) -> bool;
}

/// A part of the document that writes itself.
pub(super) trait Element {
    fn write(&self, xml: &mut Xml);
}

/// A document that is being written.
#[derive(Debug, Default)]
pub(super) struct Xml {
    text: String,
    depth: usize,
    /// Whether the start tag of the innermost element still lacks its `>`.
    open: bool,
}

impl Xml {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { text: String::with_capacity(capacity), depth: 0, open: false }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// An element: `body` gives its attributes first, then what is in it.
    pub(super) fn element(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        self.start(name);
        body(self);
        self.depth -= 1;
        if std::mem::take(&mut self.open) {
            self.text.push_str("/>\n");
        } else {
            self.indent();
            self.text.push_str("</");
            self.text.push_str(name);
            self.text.push_str(">\n");
        }
    }

    /// An element with attributes and nothing in it.
    pub(super) fn leaf(&mut self, name: &str, attributes: &[(&str, &dyn Scalar)]) {
        self.element(name, |xml| {
            for (name, value) in attributes {
                xml.attribute(name, *value);
            }
        });
    }

    /// An element with text in it; nothing when there is no text.
    pub(super) fn text(&mut self, name: &str, attributes: &[(&str, &dyn Scalar)], text: impl Scalar) {
        let before = (self.text.len(), self.open);
        self.start(name);
        for (name, value) in attributes {
            self.attribute(name, *value);
        }
        self.depth -= 1;
        self.open = false;
        self.text.push('>');
        if text.append(&mut self.text) {
            self.text.push_str("</");
            self.text.push_str(name);
            self.text.push_str(">\n");
        } else {
            self.text.truncate(before.0);
            self.open = before.1;
        }
    }

    /// An attribute of the element that was just started.
    pub(super) fn attribute(&mut self, name: &str, value: &(impl Scalar + ?Sized)) {
        let before = self.text.len();
        self.text.push(' ');
        self.text.push_str(name);
        self.text.push_str("='");
        if value.append(&mut self.text) {
            self.text.push('\'');
        } else {
            self.text.truncate(before);
        }
    }

    /// A part of the document, or several, or none.
    pub(super) fn put<'a, E: Element + 'a>(&mut self, parts: impl IntoIterator<Item = &'a E>) {
        for part in parts {
            part.write(self);
        }
    }

    fn start(&mut self, name: &str) {
        if std::mem::replace(&mut self.open, true) {
            self.text.push_str(">\n");
        }
        self.indent();
        self.depth += 1;
        self.text.push('<');
        self.text.push_str(name);
    }

    fn indent(&mut self) {
        const SPACES: &str = "                                ";
        self.text.push_str(SPACES.get(..2 * self.depth).unwrap_or(SPACES));
    }
}

impl Scalar for str {
    fn append(&self, to: &mut String) -> bool {
        // nearly every text is plain; the others are looked at character by character
        if self.bytes().fold(true, |plain, byte| plain & PLAIN[usize::from(byte)]) {
            to.push_str(self);
        } else {
            for c in self.chars() {
                match escaped(c) {
                    Some(text) => to.push_str(text),
                    None => to.push(c),
                }
            }
        }
        true
    }
}

/// The bytes that stand for themselves, whatever is around them.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut control = 0;
    while control < b' ' as usize {
        plain[control] = false;
        control += 1;
    }
    let special = b"<>&'\"";
    let mut next = 0;
    while next < special.len() {
        plain[special[next] as usize] = false;
        next += 1;
    }
    // begins the characters that XML leaves out at the end of the basic plane
    plain[0xEF] = false;
    plain
};

/// What stands for a character that cannot stand for itself. White space is kept from the reader's normalisation;
/// most control characters have no form in XML: the replacement character stands for them, as in Go.
fn escaped(c: char) -> Option<&'static str> {
    Some(match c {
        '<' => "&lt;",
        '>' => "&gt;",
        '&' => "&amp;",
        '\'' => "&apos;",
        '"' => "&quot;",
        '\t' => "&#9;",
        '\n' => "&#10;",
        '\r' => "&#13;",
        '\0'..='\x1F' | '\u{FFFE}' | '\u{FFFF}' => "\u{FFFD}",
        _ => return None,
    })
}

impl Scalar for String {
    fn append(&self, to: &mut String) -> bool {
        self.as_str().append(to)
    }
}

impl Scalar for Cow<'_, str> {
    fn append(&self, to: &mut String) -> bool {
        str::append(self, to)
    }
}

impl<S: Scalar + ?Sized> Scalar for &S {
    fn append(&self, to: &mut String) -> bool {
        (**self).append(to)
    }
}

impl<S: Scalar> Scalar for Option<S> {
    fn append(&self, to: &mut String) -> bool {
        self.as_ref().is_some_and(|value| value.append(to))
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Scalar for $number {
            fn append(&self, to: &mut String) -> bool {
                u64::from(*self).append(to)
            }
        }
    )*};
}

numbers!(u8 u32);

impl Scalar for u64 {
    fn append(&self, to: &mut String) -> bool {
        // several times as fast as the formatting of the standard library, and domains are full of numbers
        let mut digits = [b'0'; 20];
        let mut start = digits.len();
        let mut rest = *self;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            start -= 1;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        to.extend(digits.iter().skip(start).map(|digit| char::from(*digit)));
        true
    }
}

impl Scalar for i64 {
    fn append(&self, to: &mut String) -> bool {
        if *self < 0 {
            to.push('-');
        }
        self.unsigned_abs().append(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(body: impl FnOnce(&mut Xml)) -> String {
        let mut xml = Xml::default();
        body(&mut xml);
        xml.finish()
    }

    #[test]
    fn elements_nest_and_close_as_libvirt_prints_them() {
        let text = written(|x| {
            x.element("a", |x| {
                x.attribute("b", "1");
                x.attribute("absent", &None::<&str>);
                x.text("absent", &[], None::<&str>);
                x.leaf("c", &[("d", &2u32)]);
                x.text("e", &[("f", &"g")], "h");
                x.text("empty", &[], "");
            });
        });
        assert_eq!(text, "<a b='1'>\n  <c d='2'/>\n  <e f='g'>h</e>\n  <empty></empty>\n</a>\n");
        assert_eq!(written(|x| x.element("a", |x| x.text("absent", &[], None::<&str>))), "<a/>\n");
    }

    #[test]
    fn numbers_are_written_in_decimal_digits() {
        let text = written(|x| {
            x.element("n", |x| {
                for (name, value) in [("a", 0), ("b", 7), ("c", 10), ("d", u64::MAX)] {
                    x.attribute(name, &value);
                }
                x.attribute("e", &i64::MIN);
                x.attribute("f", &255u8);
            });
        });
        assert_eq!(text, "<n a='0' b='7' c='10' d='18446744073709551615' e='-9223372036854775808' f='255'/>\n");
    }

    #[test]
    fn no_text_breaks_out_of_its_place() {
        let text = written(|x| x.text("a", &[("b", &"'\"<>&\u{1}\r\n\t")], "</a>&\u{1b}[31m\u{FFFF}\u{FEFF}ä\r\n"));
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(document.root_element().attribute("b"), Some("'\"<>&\u{FFFD}\r\n\t"));
        assert_eq!(document.root_element().text(), Some("</a>&\u{FFFD}[31m\u{FFFD}\u{FEFF}ä\r\n"));
    }
}
