// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

const (
	// minFault and maxFault bound how long a fault may last.
	minFault = time.Second
	maxFault = time.Hour
	// maxFaultRequest bounds the annotation, in bytes, as the status that remembers it does.
	maxFaultRequest = 256
)

// FaultRequest is the fault that the annotation InjectFaultAnnotation requests.
type FaultRequest struct {
	Type     v1.FaultType
	Endpoint string // of Drain
	At       time.Time
	For      time.Duration
}

// Deadline is when the fault ends at the latest.
func (r *FaultRequest) Deadline() time.Time { return r.At.Add(r.For) }

// ParseFault reads a value of InjectFaultAnnotation: a type, and then settings, separated by spaces. The
// error says how to write it.
func ParseFault(value string) (FaultRequest, error) {
	var r FaultRequest
	words := strings.Fields(value)
	switch {
	case len(value) > maxFaultRequest:
		return r, fmt.Errorf("must have at most %d bytes", maxFaultRequest)
	case len(words) == 0:
		return r, errors.New("name a fault, such as BlackHole for=10m at=2026-03-02T14:00:00Z; to request nothing, remove the annotation")
	}
	r.Type = v1.FaultType(words[0])
	if r.Type != v1.FaultBlackHole && r.Type != v1.FaultDrain && r.Type != v1.FaultFailOver {
		return r, errors.New("must begin with BlackHole, Drain or FailOver")
	}
	given := map[string]string{}
	for _, word := range words[1:] {
		key, text, has := strings.Cut(word, "=")
		if _, twice := given[key]; twice || !has || text == "" || key != "for" && key != "at" && key != "endpoint" {
			return r, fmt.Errorf("%q is not one of for=, at= and endpoint=, each at most once and with a value", word)
		}
		given[key] = text
	}
	return r, r.read(given)
}

// read takes over the settings.
func (r *FaultRequest) read(given map[string]string) error {
	var err error
	switch {
	case given["for"] == "":
		return errors.New("say how long, from 1s to 1h, such as for=10m: a fault never lasts without an end")
	case given["at"] == "":
		return errors.New("say from when on, such as at=2026-03-02T14:00:00Z for the present time: it tells a new request from one that was applied again")
	}
	if r.For, err = time.ParseDuration(given["for"]); err != nil || r.For < minFault || r.For > maxFault {
		return fmt.Errorf("for=%s must be a duration from 1s to 1h, such as 10m", given["for"])
	}
	if r.At, err = time.Parse(time.RFC3339, given["at"]); err != nil || r.At.Year() < 2000 { // the zero time is no time in a status
		return fmt.Errorf("at=%s must be an RFC 3339 timestamp, such as 2026-03-02T14:00:00Z", given["at"])
	}
	r.At, r.Endpoint = r.At.UTC(), given["endpoint"]
	switch {
	case r.Type == v1.FaultDrain && r.Endpoint == "":
		return errors.New("Drain needs the name of an endpoint, such as endpoint=primary") //nolint:staticcheck // Drain is a word of the API
	case len(r.Endpoint) > 63:
		return errors.New("endpoint= names an endpoint, and its name has at most 63 characters")
	case r.Type != v1.FaultDrain && r.Endpoint != "":
		return errors.New("endpoint= goes with Drain only")
	}
	return nil
}

// faultRequest checks the annotation by which a user requests a fault.
func faultRequest(obj *v1.ExternalService) field.ErrorList {
	value, has := obj.Annotations[v1.InjectFaultAnnotation]
	if !has {
		return nil
	}
	path := rules.At("metadata", "annotations").Key(v1.InjectFaultAnnotation).Field()
	if len(value) > maxFaultRequest {
		return field.ErrorList{field.TooLong(path, "", maxFaultRequest)}
	}
	if _, err := ParseFault(value); err != nil {
		return field.ErrorList{field.Invalid(path, value, err.Error())}
	}
	return nil
}
