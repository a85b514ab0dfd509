//! What stands on a field: its name on the wire, its documentation, and the markers of `#[api(…)]`.

use proc_macro2::{Ident, Span, TokenStream as Tokens};
use quote::{format_ident, quote};
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Expr, ExprLit, Lit, LitStr, Meta, Result, Token, parenthesized};

/// The markers of a field, a type or an enumeration.
#[derive(Default)]
pub(crate) struct Markers {
    /// The name on the wire, where it is not the camelCase of the field's.
    pub(crate) name: Option<LitStr>,
    /// Whether the schema demands the field.
    pub(crate) required: bool,
    /// Whether the field is written even when it is empty.
    pub(crate) always: bool,
    /// Whether the field holds the type that it is a part of.
    pub(crate) recursive: bool,
    /// The builder steps that the schema takes: `.nullable(true)`, `.minimum(1)`, …
    pub(crate) steps: Tokens,
}

impl Markers {
    /// Takes the `#[api(…)]` attributes off a field.
    pub(crate) fn take(attributes: &mut Vec<Attribute>) -> Result<Self> {
        let mut markers = Self::default();
        for attribute in attributes.extract_if(.., |a| a.path().is_ident("api")) {
            attribute.parse_nested_meta(|meta| markers.add(&meta))?;
        }
        Ok(markers)
    }

    /// Reads one marker.
    pub(crate) fn add(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let marker = meta.path.require_ident()?.to_string();
        match marker.as_str() {
            "name" => self.name = Some(meta.value()?.parse()?),
            "required" => self.required = true,
            "always" => self.always = true,
            "recursive" => self.recursive = true,
            "nullable" | "closed" | "atomic" | "preserve" => self.step(&marker, &quote!(true)),
            "list" => {
                let kind: LitStr = meta.value()?.parse()?;
                let variant = match kind.value().as_str() {
                    "atomic" => quote!(Atomic),
                    "set" => quote!(Set),
                    "map" => quote!(Map),
                    _ => return Err(Error::new_spanned(kind, "a list is `atomic`, `set` or `map`")),
                };
                self.step("list", &quote!(crate::schema::ListKind::#variant));
            }
            "key" | "format" | "pattern" | "minimum" | "maximum" | "min_length" | "max_length" | "min_items" | "max_items" | "default"
            | "one_of" => {
                let value: Expr = meta.value()?.parse()?;
                self.step(&marker, &quote!(#value));
            }
            "rule" => {
                let content;
                parenthesized!(content in meta.input);
                let rule: LitStr = content.parse()?;
                content.parse::<Token![,]>()?;
                let message: LitStr = content.parse()?;
                self.step("rule", &quote!(#rule, #message));
            }
            _ => return Err(meta.error("no such marker; see the documentation of `api`")),
        }
        Ok(())
    }

    fn step(&mut self, method: &str, arguments: &Tokens) {
        let method = format_ident!("{method}");
        self.steps.extend(quote!(.#method(#arguments)));
    }

    /// The name of a field on the wire.
    pub(crate) fn wire_name(&self, field: &Ident) -> LitStr {
        self.name.clone().unwrap_or_else(|| LitStr::new(&camel_case(&field.to_string()), Span::call_site()))
    }
}

/// The documentation as one text: lines of a paragraph joined, paragraphs apart.
pub(crate) fn documentation(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        let Meta::NameValue(meta) = &attribute.meta else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &meta.value else { continue };
        if !meta.path.is_ident("doc") {
            continue;
        }
        let line = line.value();
        match line.trim() {
            "" => text.push('\n'),
            line if text.is_empty() || text.ends_with('\n') => text.push_str(line),
            line => {
                text.push(' ');
                text.push_str(line);
            }
        }
    }
    text.trim().replace('`', "")
}

/// `node_selector` → `nodeSelector`; a trailing `_` (a Rust keyword) is dropped.
fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for c in name.trim_end_matches('_').chars() {
        if c == '_' {
            upper = true;
        } else if std::mem::take(&mut upper) {
            out.extend(c.to_uppercase());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_on_the_wire() {
        for (rust, wire) in [("node_selector", "nodeSelector"), ("type_", "type"), ("name", "name")] {
            assert_eq!(camel_case(rust), wire);
        }
    }

    #[test]
    fn documentation_is_one_text() {
        let attributes: Vec<Attribute> = vec![
            syn::parse_quote!(#[doc = " The `size`"]),
            syn::parse_quote!(#[doc = " in bytes."]),
            syn::parse_quote!(#[doc = ""]),
            syn::parse_quote!(#[doc = " Default: 1."]),
        ];
        assert_eq!(documentation(&attributes), "The size in bytes.\nDefault: 1.");
    }
}
