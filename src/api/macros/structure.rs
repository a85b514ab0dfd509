//! `#[api]` on a struct: the derives, the names, and what is left out when it is empty; and its schema.

use proc_macro2::{Ident, Span, TokenStream as Tokens};
use quote::quote;
use syn::{Error, Fields, GenericArgument, ItemStruct, PathArguments, Result, Type};

use crate::field::{Markers, documentation};

pub(crate) fn expand(markers: &Markers, mut item: ItemStruct) -> Result<Tokens> {
    let Fields::Named(fields) = &mut item.fields else {
        return Err(Error::new_spanned(item, "`api` structs have named fields"));
    };
    let (mut schema, mut names, mut reads, mut writes, mut idents) = (Tokens::new(), Vec::new(), Tokens::new(), Tokens::new(), Vec::new());
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

        let place = names.len();
        let way = way(ty);
        reads.extend(quote!(#place => map.next_value_seed(crate::wire::Field::<_, #way>::new(&mut self.#ident)),));
        let value = if is_named(ty, &["f32", "f64"]) { quote!(crate::wire::Float(self.#ident)) } else { quote!(self.#ident) };
        let write = quote!(out.serialize_field(#name, &#value)?;);
        let keep_empty = markers.required || markers.always;
        writes.extend(if keep_empty { write } else { quote!(if !crate::wire::Empty::is_empty(&self.#ident) { #write }) });
        names.push(name);
        idents.push(ident.clone());
    }
    let (ident, text, steps) = (&item.ident, documentation(&item.attrs), &markers.steps);
    Ok(quote! {
        #[derive(Clone, Debug, Default, PartialEq)]
        #item

        impl serde::Serialize for #ident {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct as _;
                // an upper limit: counting what will be written would look at every field twice
                let mut out = serializer.serialize_struct(stringify!(#ident), <Self as crate::wire::Structure>::FIELDS.len())?;
                #writes
                out.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for #ident {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut value = Self::default();
                crate::wire::structure(deserializer, &mut value).map(|()| value)
            }

            fn deserialize_in_place<D: serde::Deserializer<'de>>(deserializer: D, place: &mut Self) -> Result<(), D::Error> {
                crate::wire::structure(deserializer, place)
            }
        }

        impl crate::wire::Structure for #ident {
            const NAME: &'static str = stringify!(#ident);
            const FIELDS: &'static [&'static str] = &[#(#names),*];

            fn read<'de, A: serde::de::MapAccess<'de>>(&mut self, field: usize, map: &mut A) -> Result<(), A::Error> {
                match field {
                    #reads
                    _ => Ok(()),
                }
            }
        }

        impl crate::wire::Empty for #ident {
            fn is_empty(&self) -> bool {
                true #(&& crate::wire::Empty::is_empty(&self.#idents))*
            }
        }

        impl crate::schema::Schema for #ident {
            fn schema() -> crate::schema::Node {
                crate::schema::Node::object().described(#text)#schema #steps
            }
        }
    })
}

/// The way in which a value is read as an API server and Go do.
fn way(ty: &Type) -> Tokens {
    const INTEGERS: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
    let ways = |of: &str| item_type(ty).map(|item| (Ident::new(of, Span::call_site()), way(item)));
    let nested = match name(ty).unwrap_or_default().as_str() {
        // There is no empty time or condition of Kubernetes' own types, and an empty quantity has a text.
        "Option" | "Vec" if item_type(ty).is_some_and(|item| is_named(item, &["Time", "MicroTime", "Condition", "Quantity"])) => None,
        "Option" => ways("Maybe"),
        "Vec" => ways("List"),
        "BTreeMap" => ways("Map"),
        "String" => return quote!(crate::wire::Text),
        name if INTEGERS.contains(&name) => return quote!(crate::wire::Whole),
        _ => None,
    };
    match nested {
        Some((outer, inner)) => quote!(crate::wire::#outer<#inner>),
        None => quote!(crate::wire::Plain),
    }
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
