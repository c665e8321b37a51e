# The supervisor ends what its owner could not. It runs in a session of its own and reads the owner's
# pipe on standard input:
#
#	watch PID     the process group PID belongs to the owner
#	forget PID    it has ended
#
# The end of the input means that the owner is gone, however it went. The supervisor then ends the
# groups it still knows, and removes the owner's folder, its first argument.

# A signal to everything at once must not end the one who cleans up: the owner's end is enough.
trap '' HUP INT TERM

folder=$1
groups=

while read -r verb pid; do
	case $verb in
	watch) groups="$groups $pid" ;;
	forget)
		rest=
		for group in $groups; do
			[ "$group" = "$pid" ] || rest="$rest $group"
		done
		groups=$rest
		;;
	esac
done

signal() {
	for group in $groups; do
		kill -s "$1" -- "-$group" 2>/dev/null
	done
}

alive() {
	for group in $groups; do
		kill -s 0 -- "-$group" 2>/dev/null && return 0
	done
	return 1
}

# Waits until all groups are gone, at most $1 tenths of a second. A sleep that knows no fractions
# makes them whole seconds.
wait_gone() {
	left=$1
	while alive && [ "$left" -gt 0 ]; do
		sleep 0.1 2>/dev/null || sleep 1
		left=$((left - 1))
	done
}

if [ -n "$groups" ]; then
	signal TERM
	wait_gone 20
	signal KILL
	wait_gone 20
fi
rm -rf -- "$folder"
