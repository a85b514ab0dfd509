//! `#[api]` on a struct: the derives, the names, and what is left out when it is empty; and its schema.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Error, Fields, GenericArgument, ItemStruct, PathArguments, Result, Type};

use crate::field::{Markers, documentation};

pub(crate) fn expand(markers: &Markers, mut item: ItemStruct) -> Result<Tokens> {
    let Fields::Named(fields) = &mut item.fields else {
        return Err(Error::new_spanned(item, "`api` structs have named fields"));
    };
    let mut schema = Tokens::new();
    for field in &mut fields.named {
        let Some(ident) = &field.ident else { continue };
        let markers = Markers::take(&mut field.attrs)?;
        let name = markers.wire_name(ident);
        let (ty, steps, required, text) = (&field.ty, &markers.steps, markers.required, documentation(&field.attrs));
        // A structure within itself has no end: it stands for any value.
        let node = if markers.recursive {
            quote!(crate::schema::Node::new(crate::schema::Shape::Any))
        } else {
            quote!(<#ty as crate::schema::Schema>::schema())
        };
        schema.extend(quote!(.field(#name, #required, #node.described(#text)#steps)));

        let keep_empty = markers.required || markers.always;
        field.attrs.push(syn::parse_quote!(#[serde(rename = #name)]));
        if is_named(&field.ty, &["f32", "f64"]) {
            field.attrs.push(syn::parse_quote!(#[serde(serialize_with = "crate::wire::float")]));
        }
        let reader = integer_reader(&field.ty);
        if is_named(&field.ty, &["Option"]) {
            field.attrs.push(syn::parse_quote!(#[serde(default)]));
            if let Some(reader) = reader {
                field.attrs.push(syn::parse_quote!(#[serde(deserialize_with = #reader)]));
            }
            if !keep_empty {
                field.attrs.push(syn::parse_quote!(#[serde(skip_serializing_if = "Option::is_none")]));
            }
        } else {
            // There is no empty condition of Kubernetes' own type.
            let has_empty_items = is_named(&field.ty, &["Vec"]) && !item_type(&field.ty).is_some_and(|item| is_named(item, &["Condition"]));
            let usual = match () {
                () if has_empty_items => "crate::wire::items",
                () if is_named(&field.ty, &["BTreeMap"]) => "crate::wire::values",
                () => "crate::wire::nullable",
            };
            let reader = reader.unwrap_or(usual);
            field.attrs.push(syn::parse_quote!(#[serde(default, deserialize_with = #reader)]));
            if !keep_empty {
                field.attrs.push(syn::parse_quote!(#[serde(skip_serializing_if = "crate::wire::is_empty")]));
            }
        }
    }
    let (ident, text, steps) = (&item.ident, documentation(&item.attrs), &markers.steps);
    Ok(quote! {
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #item

        impl crate::schema::Schema for #ident {
            fn schema() -> crate::schema::Node {
                crate::schema::Node::object().described(#text)#schema #steps
            }
        }
    })
}

/// What reads a field of integers as an API server does.
fn integer_reader(ty: &Type) -> Option<&'static str> {
    const INTEGERS: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
    if is_named(ty, &INTEGERS) {
        return Some("crate::wire::integer");
    }
    let item = item_type(ty)?;
    let readers = [("Option", "crate::wire::optional_integer"), ("Vec", "crate::wire::integers"), ("BTreeMap", "crate::wire::integer_map")];
    readers.iter().find(|(name, _)| is_named(ty, &[*name]) && is_named(item, &INTEGERS)).map(|(_, reader)| *reader)
}

/// What a list, a map or an option holds.
fn item_type(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    match arguments.args.last() {
        Some(GenericArgument::Type(item)) => Some(item),
        _ => None,
    }
}

fn is_named(ty: &Type, names: &[&str]) -> bool {
    matches!(ty, Type::Path(p) if p.path.segments.last().is_some_and(|s| names.iter().any(|name| s.ident == name)))
}
