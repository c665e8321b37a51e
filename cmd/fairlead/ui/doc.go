// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui serves the model of inspect as pages on a loopback address, for the user who has started it.
//
// Nothing is shown without the token in the path of the address, nor to a page of another origin. The pages are complete without
// JavaScript; the script moves the focus by keys, and loads a page again when the server says that something has changed.
//
// It writes nothing, listens on no other address, and never asks the API server because a page is open: watches keep the model.
package ui
