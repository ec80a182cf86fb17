#pragma once
// Private to this room: what pages share.
