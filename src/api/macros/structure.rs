//! `#[api]` on a struct: the derives, the names, and what is left out when it is empty; and its schema.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Error, Fields, ItemStruct, Result, Type};

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
        if is_named(&field.ty, &["Option"]) {
            field.attrs.push(syn::parse_quote!(#[serde(default)]));
            if !keep_empty {
                field.attrs.push(syn::parse_quote!(#[serde(skip_serializing_if = "Option::is_none")]));
            }
        } else {
            field.attrs.push(syn::parse_quote!(#[serde(default, deserialize_with = "crate::wire::nullable")]));
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

fn is_named(ty: &Type, names: &[&str]) -> bool {
    matches!(ty, Type::Path(p) if p.path.segments.last().is_some_and(|s| names.iter().any(|name| s.ident == name)))
}
