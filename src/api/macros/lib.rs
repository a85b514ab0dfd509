//! The `#[api]` attribute: one declaration of a Kubernetes API type gives its wire form and its schema.
//!
//! On a struct it gives `Clone, Debug, Default, PartialEq, Serialize, Deserialize` with the rules that Kubernetes'
//! own encoder follows, so that a document survives a decode and an encode unchanged:
//!
//! - JSON names are the camelCase of the field's name (a trailing `_` is dropped), or `#[api(name = "…")]`;
//! - an empty value (absent, `null`, `""`, `0`, `false`, `[]`, `{}`) is left out, unless the field is
//!   `required` (the schema demands it) or `always` (written even when it is empty, as a struct by value is);
//! - an integer may be written with a fraction of zero (`2.0`), as an API server takes it;
//! - unknown fields are ignored here; the schema reports them.
//!
//! On an enum whose variants are written `Name = "wire"`, it makes an *open* enumeration: one more variant
//! `Other(String)` keeps a value that this version does not know, and the empty string is the unset value
//! (`Default`). Validation, not decoding, decides whether an unknown value is a fault, so that it can name the field.
//!
//! Both also implement `Schema`. The structure comes from the types, the descriptions from the doc comments, and what
//! neither knows from markers, on a field (`#[api(…)]`) or on a whole type (`#[api(…)]` above it):
//!
//! | marker | meaning |
//! |---|---|
//! | `required` | must be there |
//! | `nullable` | `null` stands for itself |
//! | `list = "atomic"\|"set"\|"map"`, `key = "name"` | how lists merge, and by which fields |
//! | `atomic` | an object that merges as one value |
//! | `preserve` | unknown fields are kept |
//! | `recursive` | the field holds the type itself; its structure is left open |
//! | `closed` | an enumeration without further values |
//! | `one_of = &["…"]` | a string that is one of these |
//! | `minimum`, `maximum`, `min_length`, `max_length`, `min_items`, `max_items`, `pattern` | limits |
//! | `format = "…"` | the notation; `""` for none |
//! | `default = …` | what the API server fills in |
//! | `rule("CEL", "message")` | what must hold beyond the structure |

mod enumeration;
mod field;
mod mirror;
mod structure;

use proc_macro::TokenStream;
use syn::{Error, Item, parse_macro_input};

use field::Markers;

/// Gives an API type its wire form and its schema. See the crate's documentation.
#[proc_macro_attribute]
pub fn api(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut markers = Markers::default();
    let parser = syn::meta::parser(|meta| markers.add(&meta));
    parse_macro_input!(args with parser);
    let expanded = match parse_macro_input!(item as Item) {
        Item::Struct(item) => structure::expand(&markers, item),
        Item::Enum(item) => enumeration::expand(&markers, &item),
        other => Err(Error::new_spanned(other, "`api` goes on a struct or an enum")),
    };
    expanded.unwrap_or_else(Error::into_compile_error).into()
}

/// Gives types of another crate their schemas: `Type { field, field }` with the doc comments and markers of `api`.
/// The structure of each field is inferred from the type that is mirrored, so that a table cannot drift from it.
#[proc_macro]
pub fn mirror(item: TokenStream) -> TokenStream {
    let mirrors = parse_macro_input!(item as mirror::Mirrors);
    mirror::expand(mirrors).unwrap_or_else(Error::into_compile_error).into()
}
