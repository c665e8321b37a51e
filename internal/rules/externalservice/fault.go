// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

const (
	// minFault and maxFault bound how long a fault may last.
	minFault = time.Second
	maxFault = time.Hour
)

// isSpan matches a duration, as the schema does for fields.
var isSpan = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)

// FaultRequest is a parsed value of InjectFaultAnnotation.
type FaultRequest struct {
	Type     v1.FaultType
	Endpoint string // the endpoint of a Drain
	// At is when the fault begins; zero means when it is first observed.
	At  time.Time
	For time.Duration
}

// ParseFault parses a value of InjectFaultAnnotation: a type, followed by settings, all separated by spaces. Its error
// shows the format.
func ParseFault(value common.Token) (FaultRequest, error) {
	var r FaultRequest
	words := strings.Fields(string(value))
	switch {
	case !value.IsValid():
		return r, fmt.Errorf("must have 1 to %d printable characters", common.MaxTokenLength)
	case len(words) == 0:
		return r, errors.New("name a fault, such as BlackHole for=10m; to request nothing, remove the annotation")
	}
	r.Type = v1.FaultType(words[0])
	if r.Type != v1.FaultBlackHole && r.Type != v1.FaultDrain && r.Type != v1.FaultFailOver {
		return r, errors.New("must begin with BlackHole, Drain or FailOver")
	}
	given := map[string]string{}
	for _, word := range words[1:] {
		key, text, has := strings.Cut(word, "=")
		if _, twice := given[key]; twice || !has || text == "" || !slices.Contains([]string{"for", "at", "endpoint", "id"}, key) {
			return r, fmt.Errorf("%q is not one of for=, at=, endpoint= and id=, each at most once and with a value", word)
		}
		given[key] = text
	}
	return r, r.read(given)
}

// read sets the fields from the settings.
func (r *FaultRequest) read(given map[string]string) error {
	span, errSpan := common.Duration(given["for"]).Parse()
	switch {
	case given["for"] == "":
		return errors.New("say how long, from 1s to 1h, such as for=10m: a fault never lasts without an end")
	case errSpan != nil, !isSpan.MatchString(given["for"]), span < minFault, span > maxFault:
		return fmt.Errorf("for=%s must be a duration from 1s to 1h, such as 10m", given["for"])
	}
	var err error
	if at := given["at"]; at != "" {
		if r.At, err = time.Parse(time.RFC3339, at); err != nil || r.At.Year() < 2000 { // a status cannot hold the zero time
			return fmt.Errorf("at=%s must be an RFC 3339 timestamp, such as 2026-03-02T14:00:00Z; without it the fault begins at once", at)
		}
		r.At = r.At.UTC()
	}
	r.For, r.Endpoint = span, given["endpoint"]
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

// requests checks the annotations by which a user requests something once.
func requests(obj *v1.ExternalService) field.ErrorList {
	errs := rules.Tokens(obj.Annotations, v1.FailbackNowAnnotation, v1.InjectFaultAnnotation)
	if fault := common.TokenOf(obj, v1.InjectFaultAnnotation); fault != "" {
		if _, err := ParseFault(fault); err != nil {
			errs = append(errs, field.Invalid(rules.At("metadata", "annotations").Key(v1.InjectFaultAnnotation).Field(), fault, err.Error()))
		}
	}
	return errs
}
