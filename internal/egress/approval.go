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
)

const (
	// maxUser bounds the user's name in an approval, in bytes.
	maxUser = 256
	// maxApproval bounds an approval that is read at all, in bytes: JSON writes a byte as six at most.
	maxApproval = 6*maxUser + 128
)

// approval is the value of the annotation.
type approval struct {
	User   string `json:"user"`
	Digest string `json:"digest"`
}

// Digest names what of a spec is approved: the static addresses, with the endpoints and ports that they
// have. The order of lists does not matter to it. It is "" where there are none.
func Digest(spec *networkingv1.ExternalServiceSpec) string {
	var parts []string
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		if len(e.Addresses) == 0 {
			continue
		}
		addresses := slices.Clone(e.Addresses)
		slices.Sort(addresses)
		part, err := json.Marshal([]any{e.Name, portsOf(spec, e), slices.Compact(addresses)})
		if err != nil {
			return "" // strings and numbers always marshal
		}
		parts = append(parts, string(part))
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Approval is the value of the annotation by which user is known to be entitled to the static
// addresses of es as they are now.
func Approval(es *networkingv1.ExternalService, user string) string {
	value, err := json.Marshal(approval{User: shortened(user), Digest: Digest(&es.Spec)})
	if err != nil {
		return "" // approves nothing
	}
	return string(value)
}

// shortened is a name of bounded length that is still of one user only.
func shortened(user string) string {
	if len(user) <= maxUser {
		return user
	}
	sum := sha256.Sum256([]byte(user))
	mark := "...#" + hex.EncodeToString(sum[:])
	return strings.ToValidUTF8(user[:maxUser-len(mark)], "") + mark
}

// Approve puts the approval of user on es.
func Approve(es *networkingv1.ExternalService, user string) {
	if es.Annotations == nil {
		es.Annotations = map[string]string{}
	}
	es.Annotations[common.ApprovedByAnnotation] = Approval(es, user)
}

// StripApproval takes any approval from es.
func StripApproval(es *networkingv1.ExternalService) {
	delete(es.Annotations, common.ApprovedByAnnotation)
}

// Approved says whether an approval is on es that covers its static addresses as they are now.
func Approved(es *networkingv1.ExternalService) bool {
	value := es.Annotations[common.ApprovedByAnnotation]
	if value == "" || len(value) > maxApproval {
		return false
	}
	var given approval
	if err := json.Unmarshal([]byte(value), &given); err != nil {
		return false
	}
	return given.Digest != "" && given.Digest == Digest(&es.Spec)
}
