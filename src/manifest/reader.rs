//! From the parser's events to documents.

use std::collections::BTreeMap;

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, Tag};
use serde_json::{Map, Value};

use super::{Document, MAX_BYTES, MAX_DEPTH, MAX_NODES, ManifestError, Position, scalar};

/// Reads every document of a text; empty ones are left out.
///
/// # Errors
/// The text is too large, no UTF-8, no YAML, too deep, or its aliases grow without measure.
pub fn read(text: &[u8]) -> Result<Vec<Document>, ManifestError> {
    if text.len() > MAX_BYTES {
        return Err(whole(format!("the text is larger than {} MiB, more than a manifest can be", MAX_BYTES >> 20)));
    }
    let text = std::str::from_utf8(text)
        .map_err(|e| whole(format!("the text is no UTF-8 (at byte {}); is this a YAML or JSON file?", e.valid_up_to())))?;
    if let Some(offset) = text.find('\0') {
        return Err(whole(format!("the text has a NUL byte (at byte {offset}); is this a YAML or JSON file?")));
    }
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.block_nesting_limit = MAX_DEPTH;
    options.flow_nesting_limit = MAX_DEPTH;
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut reader = Reader::default();
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|e| scan_error(&e))?;
        reader.take(event, &span)?;
    }
    Ok(reader.documents)
}

fn whole(message: String) -> ManifestError {
    ManifestError { at: None, message }
}

fn scan_error(error: &ScanError) -> ManifestError {
    let marker = error.marker();
    ManifestError {
        at: Some(Position { line: marker.line(), column: marker.col() + 1 }),
        message: format!("this is no YAML: {}", error.info()),
    }
}

fn position(span: &Span) -> Position {
    Position { line: span.start.line(), column: span.start.col() + 1 }
}

/// A collection that is still open.
enum Open {
    Sequence { items: Vec<Value>, anchor: usize },
    Mapping { map: Map<String, Value>, merges: Vec<Value>, key: Option<String>, anchor: usize },
}

#[derive(Default)]
struct Reader {
    documents: Vec<Document>,
    stack: Vec<Open>,
    /// The path of the innermost open collection, and for each level where the parent's path ends in it.
    path: String,
    ends: Vec<usize>,
    positions: BTreeMap<String, Position>,
    start: Option<Position>,
    anchors: BTreeMap<usize, (Value, usize)>,
    nodes: usize,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), ManifestError> {
        let at = position(span);
        match event {
            Event::DocumentStart(..) => {
                self.positions.clear();
                self.anchors.clear();
                self.start = None;
            }
            Event::MappingStart(_, anchor, _) => {
                self.open(Open::Mapping { map: Map::new(), merges: Vec::new(), key: None, anchor }, at)?;
            }
            Event::SequenceStart(_, anchor, _) => self.open(Open::Sequence { items: Vec::new(), anchor }, at)?,
            Event::Scalar(text, style, anchor, tag) => self.scalar(&text, style, anchor, tag.as_deref(), at)?,
            Event::Alias(id) => {
                let (value, size) = self.anchors.get(&id).cloned().ok_or_else(|| fault(at, "this alias stands inside its own anchor"))?;
                self.count(size, at)?;
                self.place(value, at)?;
            }
            Event::MappingEnd | Event::SequenceEnd => self.close(at)?,
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, nodes: usize, at: Position) -> Result<(), ManifestError> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            return Err(fault(at, &format!("the text has more than {MAX_NODES} values (aliases count as what they stand for)")));
        }
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, anchor: usize, tag: Option<&Tag>, at: Position) -> Result<(), ManifestError> {
        self.count(1, at)?;
        // a scalar in the place of a key is always a text
        if let Some(Open::Mapping { map, key: None, .. }) = self.stack.last() {
            if map.contains_key(text) {
                return Err(fault(at, &format!("the key {text:?} stands twice in this mapping")));
            }
            self.remember_key(text, at);
            if let Some(Open::Mapping { key, .. }) = self.stack.last_mut() {
                *key = Some(text.to_owned());
            }
            return Ok(());
        }
        let is_text = style != ScalarStyle::Plain || tag.and_then(Tag::core_suffix) == Some("str");
        let value = if is_text { Value::String(text.to_owned()) } else { scalar::resolve(text).map_err(|m| fault(at, &m))? };
        if anchor != 0 {
            self.anchors.insert(anchor, (value.clone(), 1));
        }
        self.place(value, at)
    }

    /// Notes where a key stands, and makes its path the current one until its value has been placed.
    fn remember_key(&mut self, key: &str, at: Position) {
        self.ends.push(self.path.len());
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(key);
        self.positions.insert(self.path.clone(), at);
    }

    fn open(&mut self, open: Open, at: Position) -> Result<(), ManifestError> {
        self.count(1, at)?;
        if let Some(Open::Mapping { key: None, .. }) = self.stack.last() {
            return Err(fault(at, "the key of a mapping must be a text"));
        }
        self.enter_item(at);
        self.start.get_or_insert(at);
        self.stack.push(open);
        Ok(())
    }

    /// In a sequence, the next item's path becomes the current one.
    fn enter_item(&mut self, at: Position) {
        if let Some(Open::Sequence { items, .. }) = self.stack.last() {
            self.ends.push(self.path.len());
            self.path.push_str(&format!("[{}]", items.len()));
            self.positions.insert(self.path.clone(), at);
        }
    }

    fn close(&mut self, at: Position) -> Result<(), ManifestError> {
        let (value, anchor) = match self.stack.pop() {
            Some(Open::Sequence { items, anchor }) => (Value::Array(items), anchor),
            Some(Open::Mapping { map, merges, anchor, .. }) => (Value::Object(merge(map, merges, at)?), anchor),
            None => return Ok(()),
        };
        if anchor != 0 {
            let size = size(&value);
            self.anchors.insert(anchor, (value.clone(), size));
        }
        self.put(value, at);
        Ok(())
    }

    /// Places a value that is no open collection.
    fn place(&mut self, value: Value, at: Position) -> Result<(), ManifestError> {
        if let Some(Open::Mapping { key: None, .. }) = self.stack.last() {
            return Err(fault(at, "the key of a mapping must be a text"));
        }
        self.enter_item(at);
        self.start.get_or_insert(at);
        self.put(value, at);
        Ok(())
    }

    fn put(&mut self, value: Value, at: Position) {
        match self.stack.last_mut() {
            Some(Open::Sequence { items, .. }) => items.push(value),
            Some(Open::Mapping { map, merges, key, .. }) => match key.take() {
                Some(key) if key == "<<" => merges.push(value),
                Some(key) => {
                    map.insert(key, value);
                }
                None => {}
            },
            None => {
                if !value.is_null() {
                    let positions = std::mem::take(&mut self.positions);
                    self.documents.push(Document { value, start: self.start.unwrap_or(at), positions });
                }
                return;
            }
        }
        if let Some(end) = self.ends.pop() {
            self.path.truncate(end);
        }
    }
}

fn fault(at: Position, message: &str) -> ManifestError {
    ManifestError { at: Some(at), message: message.to_owned() }
}

/// Merge keys: what the mapping says itself comes first, then the earlier of the merged ones.
fn merge(mut map: Map<String, Value>, merges: Vec<Value>, at: Position) -> Result<Map<String, Value>, ManifestError> {
    let parts = merges.into_iter().flat_map(|m| match m {
        Value::Array(list) => list,
        other => vec![other],
    });
    for part in parts {
        let Value::Object(part) = part else {
            return Err(fault(at, "a merge key (<<) takes a mapping or a list of mappings"));
        };
        for (key, value) in part {
            map.entry(key).or_insert(value);
        }
    }
    Ok(map)
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.values().map(size).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(text: &str) -> Value {
        read(text.as_bytes()).unwrap().remove(0).value
    }

    fn error(text: &str) -> String {
        let e = read(text.as_bytes()).unwrap_err();
        e.at.map_or(e.message.clone(), |at| format!("{at} {}", e.message))
    }

    #[test]
    fn yaml_and_json_are_read() {
        assert_eq!(one("a: 1\nb: [x, 'yes', yes]\n1: {c: }\n"), json!({"a": 1, "b": ["x", "yes", true], "1": {"c": null}}));
        assert_eq!(one("{\"a\": [1, {\"b\": \"c\"}]}"), json!({"a": [1, {"b": "c"}]}));
        assert_eq!(one("a: |\n  x\n  y\nb: !!str 12"), json!({"a": "x\ny\n", "b": "12"}));
    }

    #[test]
    fn anchors_and_merge_keys_are_expanded() {
        assert_eq!(
            one("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\nc: [*a, *a]"),
            json!({"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}, "c": [{"x": 1, "y": 2}, {"x": 1, "y": 2}]})
        );
    }

    #[test]
    fn empty_documents_are_left_out() {
        assert_eq!(read(b"---\n---\na: 1\n---\n# nothing\n").unwrap().len(), 1);
        assert_eq!(read(b"").unwrap().len(), 0);
    }

    #[test]
    fn what_is_no_manifest_says_where_and_why() {
        assert!(error("a: 1\na: 2").starts_with("2:1 the key \"a\" stands twice"));
        assert!(error("a: [1, 2").contains("this is no YAML"));
        assert!(error("a:\n\t- b").contains("2:"));
        assert!(error("? [a]\n: b").contains("must be a text"));
        assert!(error(&"[".repeat(5000)).contains("no YAML"));
        assert!(read(&[0xff, 0xfe]).unwrap_err().message.contains("UTF-8"));
        assert!(read(&vec![b'a'; MAX_BYTES + 1]).unwrap_err().message.contains("8 MiB"));
    }

    #[test]
    fn aliases_cannot_grow_without_measure() {
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for i in 1..9 {
            bomb.push_str(&format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 10].join(",")));
        }
        assert!(error(&bomb).contains("more than"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[-a-c:\\[\\]{},&*<>|!\"'#? \n0-9.~]*") {
            let _ = read(text.as_bytes());
        }
    }
}
