// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission is the engine of the admission webhooks: it makes an HTTP handler of the functions that
// mutate or validate objects of one kind. The packages of the kinds below it have these functions, in the
// order in which they are called.
//
// An AdmissionReview passes these files:
//
//  1. webhooks/server/handler.go: the client certificate, the memory that the request may take, and the path.
//  2. handler.go: the bounds of the work, panics, and what is decided without reading the object.
//  3. review.go: the request, and where its objects begin and end.
//  4. decode.go: the object as its Go type, or the error of the field that does not fit.
//  5. mutate.go: defaults are set, and annotations that only Fairlead may write are stamped.
//  6. patch.go: the difference, as a JSON patch.
//  7. validate.go: the object, and the stored one, for the validator.
//  8. externalservice, rebootpolicy or chaospod, webhook.go: the steps of the kind; what is valid is in
//     internal/rules.
//  9. authorize.go of the kind: the rights that its writer needs, reviewed by package authorization.
//  10. response.go: the review that goes back, with bounded errors and warnings.
//
// Beside these, words.go names fields as the version does that was written, and package warnings reads what
// writers are warned of.
//
// The engine writes only into its response, never removes or rewrites what a user wrote, has no rule of any
// kind, and waits for no cache. Handlers are made without a server, so that they can be tested and measured
// alone.
package admission
