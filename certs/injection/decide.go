// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// certManagerAnnotations name a target of cert-manager's own injector, which writes caBundle by update and
// would overwrite it every time.
var certManagerAnnotations = []string{
	"cert-manager.io/inject-ca-from",
	"cert-manager.io/inject-ca-from-secret",
	"cert-manager.io/inject-apiserver-ca",
}

// action is the decision about a target.
type action int

const (
	leave   action = iota // the target has the bundle
	apply                 // apply; refused where another field manager owns a bundle
	replace               // apply with force: the target has our bundle, or no usable one
	foreign               // cert-manager injects a bundle, and it is not ours
)

// decide compares the slots with the bundle.
func decide(kind *kind, object *unstructured.Unstructured, slots []slot, bundle []byte) (action, string) {
	for _, annotation := range certManagerAnnotations {
		if _, found := object.GetAnnotations()[annotation]; found {
			if allInclude(slots, bundle) {
				return leave, annotation
			}
			return foreign, annotation
		}
	}
	outcome := leave
	for _, one := range slots {
		switch {
		case sameRoots(one.current, bundle):
		case isUseless(one.current), ownedByInjector(object, kind.path(one)):
			if outcome == leave {
				outcome = replace
			}
		default:
			outcome = apply
		}
	}
	return outcome, ""
}

// isOwnBundle reports whether what differs from the bundle is another bundle that the operator wrote.
func isOwnBundle(kind *kind, object *unstructured.Unstructured, slots []slot, bundle []byte) bool {
	for _, one := range slots {
		if !sameRoots(one.current, bundle) && (isUseless(one.current) || !ownedByInjector(object, kind.path(one))) {
			return false
		}
	}
	return true
}

// sameRoots reports whether both trust the same roots. Another order is not worth a write.
func sameRoots(current, bundle []byte) bool {
	return bytes.Equal(current, bundle) || includes(current, bundle) && includes(bundle, current)
}

// isUseless reports whether clients can trust nothing by the bundle, such as the lone line feed of old
// scaffolds: replacing it takes nothing from them.
func isUseless(current []byte) bool {
	_, err := pemfile.ParseCertificates(current)
	return err != nil
}

// allInclude reports whether every slot trusts all that the bundle trusts.
func allInclude(slots []slot, bundle []byte) bool {
	for _, one := range slots {
		if !includes(one.current, bundle) {
			return false
		}
	}
	return true
}

// includes reports whether current trusts all that the bundle trusts.
func includes(current, bundle []byte) bool {
	wanted, err := pemfile.ParseCertificates(bundle)
	return err == nil && certs.TrustsAll(current, wanted)
}

// validateBundle refuses a bundle that must not be published.
func validateBundle(bundle []byte) error {
	if _, err := pemfile.ParseCertificates(bundle); err != nil {
		return fmt.Errorf("the CA bundle to publish %w: nothing was written", err)
	}
	return nil
}

// ownedByInjector reports whether the injector applied the current value of the path. A writer that changes
// it takes the ownership away; one that writes the same value, as kubectl replace of a dump does, shares
// it, and must not block a new bundle.
func ownedByInjector(object *unstructured.Unstructured, path []string) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == FieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply && owns(entry, path)
	})
}

func owns(entry metav1.ManagedFieldsEntry, path []string) bool {
	if entry.FieldsV1 == nil {
		return false
	}
	var fields map[string]any
	if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	_, found, err := unstructured.NestedFieldNoCopy(fields, path...)
	return found && err == nil
}

// unknownWriter is a writer that left no trace: the API server does not record who removes a field, and any other manager of the
// object may be innocent.
const unknownWriter = "an unknown writer (the API server does not record who removes a field; an audit log does)"

// writer names who wrote the slots that lack part of the bundle: the other managers that own their present values.
func writer(kind *kind, object *unstructured.Unstructured, slots []slot, bundle []byte) string {
	var owners []string
	for _, entry := range object.GetManagedFields() {
		wrote := func(one slot) bool { return !includes(one.current, bundle) && owns(entry, kind.path(one)) }
		if entry.Manager != FieldOwner && slices.ContainsFunc(slots, wrote) {
			owners = append(owners, describeManager(entry))
		}
	}
	if len(owners) == 0 {
		return unknownWriter
	}
	slices.Sort(owners)
	return strings.Join(slices.Compact(owners), " and ")
}

func describeManager(entry metav1.ManagedFieldsEntry) string {
	return fmt.Sprintf("field manager %q (%s)", entry.Manager, entry.Operation)
}
