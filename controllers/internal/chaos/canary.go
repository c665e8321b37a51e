// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// canaryRetry is how old a canary is at least before one that has finished is made again.
const canaryRetry = 10 * time.Second

// TemplateHash stands for a template in TemplateHashLabel.
func TemplateHash(template *corev1.PodTemplateSpec) string {
	data, err := json.Marshal(template)
	if err != nil {
		return "unknown" // a template that was read from JSON always becomes some
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// keepCanary sees to the canary: there is one, of the present template, and it runs. A pod that is not the
// ChaosPod's is left alone. It goes on while runs are suspended: a canary is there to be looked at too.
func (r *run) keepCanary() {
	c := r.observed.Canary
	if r.template == nil || c == nil || c.Unknown != "" || c.Foreign && c.Pod != nil || r.isDeleting() || r.observed.BlockedBy.Reason != "" || r.invalid() != "" {
		return
	}
	hash := TemplateHash(r.template)
	switch pod := c.Pod; {
	case pod == nil:
		r.actions = append(r.actions, Action{Verb: CreateCanary, Hash: hash})
	case pod.Terminating:
	case c.Hash != hash, c.Finished:
		if again := pod.Created.Add(canaryRetry); c.Finished && again.After(r.now) && !again.After(r.now.Add(canaryRetry)) {
			r.requeueAt(again)
			return
		}
		r.actions = append(r.actions, Action{Verb: DeleteCanary, Pod: pod.Name, UID: pod.UID})
	}
}
