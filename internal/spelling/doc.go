// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spelling says how v1alpha1 spells the fields of v1, and rewrites an object from one spelling to the other.
//
// Every field of v1 has exactly one spelling at v1alpha1: the same name, another name, or another place. table.go lists
// those that differ, and is the only home of that fact: conversion and the paths in messages follow from it. The types
// and the rules of both versions are in api/.
//
// One law holds by construction, for every object x of v1 and every field f of it: the paths of x without f, at
// v1alpha1, are paths of x at v1alpha1. Server-side apply needs it to remove what a manager gives up, where another
// manager wrote at the other version. A default, or a field that v1alpha1 shows only sometimes, would break it.
//
// A conversion moves values as the text that they are. It decodes nothing below the fields that it moves, so that a
// number keeps its digits and a field of a newer release is kept.
package spelling
