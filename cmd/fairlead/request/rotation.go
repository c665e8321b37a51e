// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/certs/selfsigned"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// NewRotation returns a request for another root of the operator's own authority, which a Secret has. Of the Secret only metadata
// is read, and not the key.
func NewRotation(namespace, secret string, now time.Time) *Request {
	return &Request{
		Key: inspect.Key{Kind: inspect.Secret, Namespace: namespace, Name: secret}, Annotation: selfsigned.RotateAnnotation, Token: NewToken(now),
		verb: of(announceRotation, rotated),
	}
}

// phase returns the phase of the rotation that is under way; empty for none.
func phase(secret *metav1.PartialObjectMetadata) string {
	var status struct {
		Phase string `json:"phase"`
	}
	if raw := secret.Annotations[selfsigned.RotationAnnotation]; raw != "" && json.Unmarshal([]byte(raw), &status) != nil {
		return "unreadable"
	}
	return status.Phase
}

// retiring is the phase in which the new root signs everywhere and the previous one is still trusted.
const retiring = "Retiring"

func announceRotation(secret *metav1.PartialObjectMetadata, _ common.Token) (string, error) {
	if under := phase(secret); under != "" {
		return "", fmt.Errorf("a rotation is under way (%s): wait until the annotation %s is absent", under, selfsigned.RotationAnnotation)
	}
	return "replaces the root by which API servers trust the webhooks. Both roots are trusted meanwhile, and no call fails", nil
}

// rotated is done when the new root signs and was seen everywhere.
func rotated(_, secret *metav1.PartialObjectMetadata, token common.Token) Verdict {
	under := phase(secret)
	switch {
	case secret.Annotations[selfsigned.RotatedAnnotation] != string(token):
		return Verdict{Text: "the operator has not begun"}
	case under != "" && under != retiring:
		return Verdict{Text: "the rotation is in the phase " + under}
	}
	return Verdict{Done: true, Text: "the new root signs, and the former one stays trusted for what it has signed"}
}
