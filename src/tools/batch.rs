//! The batch form of a tool: a JSON object a line in, one a line out, matched by `id`; no line is lost.

use std::io::{self, BufRead, BufWriter, Write};
use std::process::ExitCode;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Answers every line of standard input by `answer`. A line that is no JSON, or not of the form `Q`, is answered by
/// `{"id", "error"}`. Exits 0 although single lines fail, 1 when the streams do.
pub(crate) fn run<Q: DeserializeOwned, A: Serialize>(answer: impl Fn(Q) -> A) -> ExitCode {
    match lines(io::stdin().lock(), BufWriter::new(io::stdout().lock()), answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kubevirt-rs: read the lines on standard input and answer them: {error}");
            ExitCode::FAILURE
        }
    }
}

fn lines<Q: DeserializeOwned, A: Serialize>(input: impl BufRead, mut output: impl Write, answer: impl Fn(Q) -> A) -> io::Result<()> {
    for line in input.split(b'\n') {
        let line = line?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        serde_json::to_writer(&mut output, &Value::Object(one(&line, &answer)))?;
        output.write_all(b"\n")?;
    }
    output.flush()
}

fn one<Q: DeserializeOwned, A: Serialize>(line: &[u8], answer: &impl Fn(Q) -> A) -> Map<String, Value> {
    let mut id = Value::Null;
    let result = serde_json::from_slice::<Value>(line).and_then(|question| {
        id = question.get("id").cloned().unwrap_or_default();
        let question = Q::deserialize(&question)?;
        serde_json::to_value(answer(question))
    });
    let mut out = match result {
        Ok(Value::Object(map)) => map,
        Ok(other) => Map::from_iter([("answer".to_owned(), other)]),
        Err(error) => Map::from_iter([("error".to_owned(), json!(error.to_string()))]),
    };
    out.insert("id".to_owned(), id);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Question {
        n: i64,
    }

    #[test]
    fn every_line_is_answered_whatever_it_is() {
        let mut out = Vec::new();
        lines(&b"{\"id\":1,\"n\":2}\n\nnot json\n{\"id\":3,\"n\":\"x\"}\n"[..], &mut out, |q: Question| json!({"twice": q.n * 2})).unwrap();
        let out: Vec<Value> = out.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(|l| serde_json::from_slice(l).unwrap()).collect();
        assert_eq!(out[0], json!({"id": 1, "twice": 4}));
        assert_eq!((out.len(), &out[1]["id"], &out[2]["id"]), (3, &Value::Null, &json!(3)));
        assert!(out[1]["error"].is_string() && out[2]["error"].is_string());
    }
}
