// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"fmt"
)

// Phase is one row of a replica's start order.
type Phase struct {
	Phase        string  `json:"phase"`
	State        string  `json:"state"`
	AfterSeconds float64 `json:"afterSeconds"`
	Seconds      float64 `json:"seconds"`
	Detail       string  `json:"detail"`
}

// Phases are the start order of a replica as /statusz has it now.
func (r *Replica) Phases(ctx context.Context) ([]Phase, error) {
	body, err := r.Probe(ctx, "/statusz?format=json")
	if err != nil {
		return nil, err
	}
	var status struct {
		Phases []Phase `json:"phases"`
	}
	if err := json.Unmarshal([]byte(body), &status); err != nil {
		return nil, fmt.Errorf("read /statusz: %w", err)
	}
	return status.Phases, nil
}

// Started is nil once the replica is through its whole start: it reconciles.
func (r *Replica) Started(ctx context.Context) error {
	phases, err := r.Phases(ctx)
	if err != nil {
		return err
	}
	if len(phases) == 0 {
		return fmt.Errorf("%s: /statusz lists no phase", r.ID)
	}
	for _, p := range phases {
		if p.State != "done" && p.State != "skipped" {
			return fmt.Errorf("%s: phase %s is %s", r.ID, p.Phase, p.State)
		}
	}
	return nil
}
