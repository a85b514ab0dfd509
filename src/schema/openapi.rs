//! OpenAPI documents of the aggregated API, of both versions of that specification, printed from the same table.

use kubevirt_api::names::SUBRESOURCE_GROUP;
use serde_json::{Map, Value, json};

use super::operations::{Answer, OPERATIONS, Of, Operation, Parameter, VERSIONS};

const TITLE: &str = "The aggregated API of virtual machines";

/// OpenAPI 3 of one version of the group: `GET /openapi/v3/apis/subresources.kubevirt.io/v1`.
pub fn v3(version: &str) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": {"title": TITLE, "version": version},
        "paths": paths(&[version], Form::Three),
    })
}

/// The index of the OpenAPI 3 documents: `GET /openapi/v3`.
pub fn v3_index() -> Value {
    let entry = |version: &&str| {
        let path = format!("apis/{SUBRESOURCE_GROUP}/{version}");
        let url = format!("/openapi/v3/{path}");
        (path, json!({"serverRelativeURL": url}))
    };
    json!({"paths": VERSIONS.iter().map(entry).collect::<Map<_, _>>()})
}

/// OpenAPI 2 of the whole group: `GET /openapi/v2`.
pub fn v2() -> Value {
    json!({
        "swagger": "2.0",
        "info": {"title": TITLE, "version": VERSIONS[0]},
        "paths": paths(&VERSIONS, Form::Two),
    })
}

/// Which specification is printed for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Two,
    Three,
}

fn paths(versions: &[&str], form: Form) -> Value {
    let mut paths = Map::new();
    for version in versions {
        for operation in OPERATIONS {
            let path = format!("/apis/{SUBRESOURCE_GROUP}/{version}{}{}", operation.of.base(), operation.path);
            let item = paths.entry(path).or_insert_with(|| Value::Object(Map::new()));
            item[operation.method] = operation.print(version, form);
        }
    }
    Value::Object(paths)
}

impl Operation {
    fn print(&self, version: &str, form: Form) -> Value {
        let mut parameters: Vec<_> = match self.of {
            Of::Machine | Of::Instance => vec![&NAMESPACE, &NAME],
            Of::Namespace => vec![&NAMESPACE],
            Of::Group => vec![],
        };
        parameters.extend(self.parameters);
        let mut parameters: Vec<_> = parameters.into_iter().map(|p| p.print(form)).collect();
        let mut out = json!({
            "operationId": self.id(version),
            "description": self.description,
            "responses": self.responses(form),
        });
        if let Some((body, required)) = self.body {
            let schema = body().to_json();
            match form {
                Form::Two => parameters.push(json!({"name": "body", "in": "body", "required": required, "schema": schema})),
                Form::Three => out["requestBody"] = json!({"required": required, "content": {"application/json": {"schema": schema}}}),
            }
        }
        if !parameters.is_empty() {
            out["parameters"] = parameters.into();
        }
        out
    }

    /// A name that no other operation has: `v1VirtualMachineInstanceSevSetupsession`.
    fn id(&self, version: &str) -> String {
        let mut id = version.to_owned();
        id.push_str(match self.of {
            Of::Machine => "VirtualMachine",
            Of::Instance => "VirtualMachineInstance",
            Of::Namespace | Of::Group => "",
        });
        for word in self.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
            let (first, rest) = word.split_at(1);
            id.push_str(&first.to_ascii_uppercase());
            id.push_str(rest);
        }
        id
    }

    fn responses(&self, form: Form) -> Value {
        let (code, description, content) = match self.answer {
            Answer::Nothing => ("200", "It is done.", None),
            Answer::Accepted => ("202", "It has begun.", None),
            Answer::Object(schema) => ("200", "What was asked for.", Some(("application/json", schema().to_json()))),
            Answer::Picture => ("200", "The picture.", Some(("image/png", json!({"type": "string", "format": "binary"})))),
            Answer::Stream => ("101", "The connection is a stream of WebSocket frames from here on.", None),
        };
        let mut good = json!({"description": description});
        if let Some((media, schema)) = content {
            match form {
                Form::Two => good["schema"] = schema,
                Form::Three => good["content"] = json!({media: {"schema": schema}}),
            }
        }
        let mut responses = json!({
            "400": {"description": "The request is wrong."},
            "401": {"description": "Nobody says who asks."},
            "404": {"description": "There is no such object."},
            "409": {"description": "The state of the object does not allow it."},
            "500": {"description": "The server failed."},
        });
        responses[code] = good;
        responses
    }
}

const NAMESPACE: Parameter = Parameter { name: "namespace", in_path: true, kind: "string", description: "The namespace of the object." };
const NAME: Parameter = Parameter { name: "name", in_path: true, kind: "string", description: "The name of the object." };

impl Parameter {
    fn print(&self, form: Form) -> Value {
        let place = if self.in_path { "path" } else { "query" };
        let mut out = json!({"name": self.name, "in": place, "required": self.in_path, "description": self.description});
        match form {
            Form::Two => out["type"] = self.kind.into(),
            Form::Three => out["schema"] = json!({"type": self.kind}),
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn operations(document: &Value) -> Vec<(&str, &Value)> {
        let paths = document["paths"].as_object().unwrap();
        paths.iter().flat_map(|(path, item)| item.as_object().unwrap().values().map(move |o| (path.as_str(), o))).collect()
    }

    #[test]
    fn every_operation_has_a_path_and_an_identity_of_its_own() {
        let (two, three) = (v2(), v3("v1"));
        assert_eq!(operations(&three).len(), OPERATIONS.len());
        assert_eq!(operations(&two).len(), OPERATIONS.len() * VERSIONS.len());
        let ids: BTreeSet<_> = operations(&two).iter().map(|(_, o)| o["operationId"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), OPERATIONS.len() * VERSIONS.len());
    }

    #[test]
    fn every_place_in_a_path_has_a_parameter() {
        for document in [v2(), v3("v1alpha3")] {
            for (path, operation) in operations(&document) {
                let wanted: BTreeSet<_> = path.split('{').skip(1).filter_map(|p| p.split('}').next()).collect();
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                let named: BTreeSet<_> = parameters.filter(|p| p["in"] == "path").map(|p| p["name"].as_str().unwrap()).collect();
                assert_eq!(wanted, named, "{path}");
            }
        }
    }

    #[test]
    fn bodies_are_explained() {
        let three = v3("v1");
        let put =
            &three["paths"]["/apis/subresources.kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstances/{name}/addvolume"]["put"];
        let body = &put["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(body["required"], json!(["name", "disk", "volumeSource"]));
        assert!(body["properties"]["name"]["description"].is_string());
        assert_eq!(put["responses"]["202"]["description"], "It has begun.");
    }

    #[test]
    fn the_index_names_every_document() {
        let index = v3_index();
        assert_eq!(index["paths"].as_object().unwrap().len(), VERSIONS.len());
    }
}
