// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"bytes"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// certManagerAnnotations hand a target to cert-manager's own injector, which writes caBundle by
// update and would win it back every time.
var certManagerAnnotations = []string{
	"cert-manager.io/inject-ca-from",
	"cert-manager.io/inject-ca-from-secret",
	"cert-manager.io/inject-apiserver-ca",
}

// action says what to do about a target.
type action int

const (
	leave   action = iota // the bundle stands there
	apply                 // apply, and be refused where another owner's bundle stands
	replace               // apply, regardless of who else owns what stands there: it is ours, or no bundle at all
	foreign               // cert-manager brings the bundle, and it is not ours
)

// decide compares what stands in the slots with the bundle.
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

// isOwnBundle says whether what differs from the bundle is a bundle that the operator has put there.
func isOwnBundle(kind *kind, object *unstructured.Unstructured, slots []slot, bundle []byte) bool {
	for _, one := range slots {
		if !sameRoots(one.current, bundle) && (isUseless(one.current) || !ownedByInjector(object, kind.path(one))) {
			return false
		}
	}
	return true
}

// sameRoots says whether both trust the same roots. In another order they are worth no write.
func sameRoots(standing, bundle []byte) bool {
	return bytes.Equal(standing, bundle) || includes(standing, bundle) && includes(bundle, standing)
}

// isUseless says whether no client could trust anybody by the bundle, such as the lone line feed of
// old scaffolds: no client loses anything by its replacement.
func isUseless(standing []byte) bool {
	_, err := pemfile.ParseCertificates(standing)
	return err != nil
}

// allInclude says whether every slot trusts all that the bundle trusts, and perhaps more.
func allInclude(slots []slot, bundle []byte) bool {
	for _, one := range slots {
		if !includes(one.current, bundle) {
			return false
		}
	}
	return true
}

// includes says whether all that the bundle trusts is trusted by what stands there.
func includes(standing, bundle []byte) bool {
	wanted, err := pemfile.ParseCertificates(bundle)
	if err != nil {
		return false
	}
	trusted, err := pemfile.ParseCertificates(standing)
	if err != nil {
		return false
	}
	for _, root := range wanted {
		if !certs.Contains(trusted, root) {
			return false
		}
	}
	return true
}

// validateBundle refuses a bundle that must not be published.
func validateBundle(bundle []byte) error {
	if _, err := pemfile.ParseCertificates(bundle); err != nil {
		return fmt.Errorf("the CA bundle to publish %w: nothing was written", err)
	}
	return nil
}
