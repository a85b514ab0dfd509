//! The schemas of the types that every other is made of.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as K8sQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Node, Schema, Shape, Takes};
use crate::{Bytes, Duration, Quantity};

macro_rules! scalars {
    ($($type:ty => $node:expr;)*) => {$(
        impl Schema for $type {
            fn schema() -> Node {
                $node
            }
        }
    )*};
}

scalars! {
    String => Node::new(Shape::String);
    bool => Node::new(Shape::Boolean);
    // Kubernetes gives unsigned numbers the format of signed ones of the same width.
    u8 => whole(u8::MIN, u8::MAX);
    i32 => whole(i32::MIN, i32::MAX).format("int32");
    u32 => whole(u32::MIN, u32::MAX).format("int32");
    i64 => whole(i64::MIN, i64::MAX).format("int64");
    u64 => whole(u64::MIN, u64::MAX).format("int64");
    f32 => Node::new(Shape::Number);
    f64 => Node::new(Shape::Number);
    Bytes => Node::new(Shape::String).format("byte");
    Duration => Node::new(Shape::String).takes(Takes::Durations);
    Quantity => Node::quantity();
    K8sQuantity => Node::quantity();
    IntOrString => Node::new(Shape::IntOrString);
    Time => Node::new(Shape::String).format("date-time");
    // The API server knows the metadata of an object itself; of an embedded object it keeps what is there.
    ObjectMeta => Node::object();
}

fn whole(least: impl Into<i128>, most: impl Into<i128>) -> Node {
    Node::new(Shape::Integer).takes(Takes::Numbers(least.into(), most.into()))
}

impl<T: Schema> Schema for Option<T> {
    fn schema() -> Node {
        T::schema()
    }
}

impl<T: Schema> Schema for Box<T> {
    fn schema() -> Node {
        T::schema()
    }
}

impl<T: Schema> Schema for Vec<T> {
    fn schema() -> Node {
        Node::new(Shape::List { item: Box::new(T::schema()), kind: None, keys: Vec::new() })
    }
}

impl<T: Schema> Schema for BTreeMap<String, T> {
    fn schema() -> Node {
        Node::new(Shape::Map(Box::new(T::schema())))
    }
}
