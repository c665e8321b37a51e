// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission creates the HTTP handlers of the admission webhooks from functions that mutate and validate objects
// of one kind. controller-runtime decodes the objects and calls the functions. The packages of the kinds have these
// functions, in the order in which they are called.
//
// An AdmissionReview passes these files:
//
//  1. webhooks/server/handler.go: the client certificate, the memory that the request may take, and the path.
//  2. handler.go: the review, the bounds of the work, panics, and what is decided without reading the object.
//  3. webhooks/internal/review, body.go: the body, and what is no review.
//  4. engine.go: the object as its Go type, with defaults, and with annotations that only Fairlead may write.
//  5. patch.go: the difference that these made, as a JSON patch.
//  6. externalservice, rebootpolicy or chaospod, webhook.go: the steps of the kind; what is valid is in
//     internal/rules.
//  7. authorize.go of the kind, with needs.go of rebootpolicy: the rights that its writer needs, reviewed by package
//     authorization.
//  8. response.go: bounded errors and warnings, which name fields as the version does that was written.
//
// The mutating webhook ends with the patch, for which the engine calls the Mutator of 6 and 7. The validating webhook has
// no patch, and calls their Validator.
//
// Package warnings reads what the warnings to writers are about.
//
// The engine writes only its response, never removes or rewrites what a user wrote, has no rule of any kind, and waits
// for no cache. Handlers are created without a server, so that they can be tested and measured alone.
package admission
