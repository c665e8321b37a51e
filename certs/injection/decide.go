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

// action is what to do about a target.
type action int

const (
	leave   action = iota // the target has the bundle
	apply                 // apply; refused where another field manager owns a bundle
	replace               // apply with force: what is there is ours, or no usable bundle
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

// writer names who wrote the slots: the other managers that own a caBundle of the target or, where none
// does since a bundle was removed, the manager that changed the target last.
func writer(kind *kind, object *unstructured.Unstructured, slots []slot) string {
	var owners []string
	var last *metav1.ManagedFieldsEntry
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == FieldOwner {
			continue
		}
		if last == nil || last.Time.Before(entry.Time) {
			last = &entry
		}
		if slices.ContainsFunc(slots, func(one slot) bool { return owns(entry, kind.path(one)) }) {
			owners = append(owners, describeManager(entry))
		}
	}
	switch {
	case len(owners) > 0:
		slices.Sort(owners)
		return strings.Join(slices.Compact(owners), " and ")
	case last != nil:
		return describeManager(*last) + ", the last one in its managed fields (a writer that only removes a field is not named there)"
	}
	return "a writer that is not in its managed fields"
}

func describeManager(entry metav1.ManagedFieldsEntry) string {
	return fmt.Sprintf("field manager %q (%s)", entry.Manager, entry.Operation)
}
