// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/approval"
)

// Digest identifies what of a spec is approved: the static addresses with their ports, in any order, whatever the names
// of their endpoints are. It is "" where there are none.
func Digest(spec *networkingv1.ExternalServiceSpec) string {
	var parts []string
	for _, s := range StaticAddresses(spec) {
		parts = append(parts, digestPart(s.IP, s.Ports))
	}
	return digestOf(parts)
}

// formerDigest is Digest as it was while it covered which endpoint an address was written at. A former approval is
// accepted for as long as it covers the object, so that an upgrade takes no address away.
func formerDigest(spec *networkingv1.ExternalServiceSpec) string {
	var parts []string
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		if len(e.Addresses) == 0 {
			continue
		}
		addresses := slices.Clone(e.Addresses)
		slices.Sort(addresses)
		parts = append(parts, digestPart(e.Name, portsOf(spec, e), slices.Compact(addresses)))
	}
	return digestOf(parts)
}

// digestPart returns the text of addresses, texts, numbers and lists of these, which always marshal.
func digestPart(values ...any) string {
	part, err := json.Marshal(values)
	if err != nil {
		return "unreadable" // and so no other digest's
	}
	return string(part)
}

func digestOf(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(parts), "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Approval returns the value of the annotation that approves the static addresses of es, as they are now, for user.
func Approval(es *networkingv1.ExternalService, user string) string {
	return approval.Value(user, Digest(&es.Spec))
}

// Approved reports whether es has an approval of its static addresses as they are now.
func Approved(es *networkingv1.ExternalService) bool {
	return covers(es.Annotations[common.ApprovedByAnnotation], es)
}

// KeptApproval returns the approval of old if it holds for es: same addresses, ports and user. If the stored form does not
// cover es, it returns the approval in the present form. It returns "" if the addresses differ or old has no approval.
func KeptApproval(es, old *networkingv1.ExternalService) string {
	stored := old.Annotations[common.ApprovedByAnnotation]
	switch {
	case !covers(stored, old) || Digest(&es.Spec) != Digest(&old.Spec):
		return ""
	case covers(stored, es):
		return stored
	}
	return approval.WithDigest(stored, Digest(&es.Spec))
}

func covers(stored string, es *networkingv1.ExternalService) bool {
	return approval.Covers(stored, Digest(&es.Spec)) || approval.Covers(stored, formerDigest(&es.Spec))
}
