//! `#[api]` on a struct: the derives, the names, and what is left out when it is empty; and its schema.

use proc_macro2::{Ident, Span, TokenStream as Tokens};
use quote::quote;
use syn::{Error, Fields, GenericArgument, ItemStruct, PathArguments, Result, Type};

use crate::field::{Markers, documentation};

pub(crate) fn expand(markers: &Markers, mut item: ItemStruct) -> Result<Tokens> {
    let Fields::Named(fields) = &mut item.fields else {
        return Err(Error::new_spanned(item, "`api` structs have named fields"));
    };
    let (mut schema, mut names, mut arms) = (Tokens::new(), Vec::new(), Tokens::new());
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
        let place = names.len();
        let read = match reader(&field.ty) {
            Some(reader) => {
                let reader = Ident::new(reader, Span::call_site());
                quote!(crate::wire::#reader(map.next_value()?))
            }
            None => quote!(map.next_value()?),
        };
        arms.extend(quote!(#place => self.#ident = #read,));
        names.push(name);
        if !keep_empty {
            let is_empty = if is_named(&field.ty, &["Option"]) { "Option::is_none" } else { "crate::wire::is_empty" };
            field.attrs.push(syn::parse_quote!(#[serde(skip_serializing_if = #is_empty)]));
        }
    }
    let (ident, text, steps) = (&item.ident, documentation(&item.attrs), &markers.steps);
    Ok(quote! {
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
        #item

        impl<'de> serde::Deserialize<'de> for #ident {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::wire::structure(deserializer)
            }
        }

        impl crate::wire::Structure for #ident {
            const NAME: &'static str = stringify!(#ident);
            const FIELDS: &'static [&'static str] = &[#(#names),*];

            fn read<'de, A: serde::de::MapAccess<'de>>(&mut self, field: usize, map: &mut A) -> Result<(), A::Error> {
                match field {
                    #arms
                    _ => {}
                }
                Ok(())
            }
        }

        impl crate::schema::Schema for #ident {
            fn schema() -> crate::schema::Node {
                crate::schema::Node::object().described(#text)#schema #steps
            }
        }
    })
}

/// What makes a field of what was read, as an API server and Go do; nothing for what is taken as it is.
fn reader(ty: &Type) -> Option<&'static str> {
    const INTEGERS: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
    let holds = |names: &[&str]| item_type(ty).is_some_and(|item| is_named(item, names));
    Some(match name(ty)?.as_str() {
        "Option" if holds(&INTEGERS) => "optional_integer",
        "Option" => return None,
        "Vec" if holds(&INTEGERS) => "integers",
        // There is no empty condition of Kubernetes' own type.
        "Vec" if !holds(&["Condition"]) => "items",
        "BTreeMap" if holds(&INTEGERS) => "integer_map",
        "BTreeMap" => "values",
        name if INTEGERS.contains(&name) => "integer",
        _ => "nullable",
    })
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

/// The last word of a type's path: `Vec` of `std::vec::Vec<T>`.
fn name(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    Some(path.path.segments.last()?.ident.to_string())
}

fn is_named(ty: &Type, names: &[&str]) -> bool {
    name(ty).is_some_and(|name| names.contains(&name.as_str()))
}
